import * as z from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import { ERROR_STATUSES, type ErrorCode } from './errors.ts'
import { EXAMPLES } from './examples.ts'
import type { Operation } from './operation.ts'
import { OPERATIONS, type OperationId } from './routes.ts'

/** The OpenAPI 3.1 document, made from the operation table alone. */
export function buildOpenApiDocument(): Record<string, unknown> {
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) }
  }
  const document = createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Boxyard',
      version: 'v1',
      description: 'Project-scoped Linux boxes with copy-on-write roots.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This deployment' }],
    tags: [...new Set(OPERATIONS.map(tagOf))].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token.' },
      },
    },
  })
  return document as unknown as Record<string, unknown>
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const example = EXAMPLES[operation.id as OperationId]
  const { params, query } = operation
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [tagOf(operation)],
    security: operation.permission === null ? [{}, { bearer: [] }] : [{ bearer: [] }],
    requestParams: {
      ...(isEmpty(params) ? {} : { path: params as z.ZodObject }),
      ...(isEmpty(query) ? {} : { query: query as z.ZodObject }),
      header: headersOf(operation),
    },
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: operation.body, example: example.body } },
          },
        }
      : {}),
    responses: responsesOf(operation, example.response),
  }
}

function responsesOf(operation: Operation, example: unknown): ZodOpenApiOperationObject['responses'] {
  const content = operation.response ? { content: { 'application/json': { schema: operation.response, example } } } : {}
  const responses: ZodOpenApiOperationObject['responses'] = {
    [String(operation.status) as '200']: { description: 'Success', ...content },
  }
  if (operation.laterStatus !== null) {
    responses[String(operation.laterStatus) as '202'] = {
      description: 'Accepted; the effect is not there yet. `Operation-Location` names what to wait on.',
      ...content,
    }
  }
  for (const [status, codes] of errorsByStatus(operation)) {
    responses[String(status) as '400'] = {
      description: codes.map((code) => `\`${code}\``).join(', '),
      content: { 'application/problem+json': { schema: problemSchema } },
    }
  }
  return responses
}

function errorsByStatus(operation: Operation): Map<number, ErrorCode[]> {
  const codes = new Set<ErrorCode>([...COMMON_ERRORS, ...operation.errors])
  if (operation.permission !== null) for (const code of AUTH_ERRORS) codes.add(code)
  if (operation.body) for (const code of BODY_ERRORS) codes.add(code)
  if (operation.method !== 'GET') codes.add('precondition_failed')
  if (operation.method === 'POST') for (const code of POST_ERRORS) codes.add(code)
  return Map.groupBy(codes, (code) => ERROR_STATUSES.get(code) ?? 500)
}

function headersOf(operation: Operation): z.ZodObject {
  return z.object({
    'X-Request-Id': z.string().max(128).optional().meta({ description: 'Echoed; made if left out.' }),
    ...(operation.method === 'POST'
      ? {
          'Idempotency-Key': z
            .string()
            .max(255)
            .optional()
            .meta({ description: 'A repeat within 24 h gets the stored answer.' }),
        }
      : {}),
    ...(operation.method === 'GET'
      ? { 'If-None-Match': z.string().optional().meta({ description: '304 if the ETag is still this.' }) }
      : { 'If-Match': z.string().optional().meta({ description: '412 if the ETag is no longer this.' }) }),
  })
}

function descriptionOf(operation: Operation): string {
  const { permission } = operation
  if (permission === null) return `${operation.summary}. Needs no token.`
  return `${operation.summary}. Needs ${permission === 'any' ? 'a valid token' : `a token with \`${permission}\``}.`
}

function tagOf(operation: Operation): string {
  if (operation.path.includes('/exec')) return 'exec'
  if (operation.path.includes('/boxes')) return 'boxes'
  if (operation.path.includes('/data')) return 'data'
  if (operation.path.endsWith('/quota')) return 'quota'
  return operation.path.startsWith('/v1/tokens') || operation.path === '/v1/me' ? 'tokens' : 'system'
}

function isEmpty(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0
}

const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum([...ERROR_STATUSES.keys()] as [ErrorCode, ...ErrorCode[]]),
    request_id: z.string(),
    retryable: z.boolean(),
    errors: z.array(z.looseObject({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'The one error shape, RFC 9457.' })

const COMMON_ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'rate_limited',
  'internal',
  'agent_protocol',
  'agent_unavailable',
  'draining',
  'agent_timeout',
]
const AUTH_ERRORS: readonly ErrorCode[] = [
  'token_missing',
  'token_invalid',
  'token_expired',
  'token_revoked',
  'permission_denied',
]
const BODY_ERRORS: readonly ErrorCode[] = ['invalid_json', 'body_too_large', 'unsupported_media_type']
const POST_ERRORS: readonly ErrorCode[] = ['idempotency_in_progress', 'idempotency_key_reused']
const TAGS: Record<string, string> = {
  system: 'Health, version, configuration, operations',
  tokens: 'Access tokens',
  boxes: 'Boxes and their life cycle',
  exec: 'Commands in boxes',
  data: 'Data volumes',
  quota: 'What a project may use',
}

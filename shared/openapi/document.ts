import * as z from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import { ERROR_STATUSES, type ErrorCode } from '../errors.ts'
import { EXAMPLES } from '../examples/examples.ts'
import { type Operation, opensByTicket } from '../operation.ts'
import { errorsOf } from '../operation-errors.ts'
import { OPERATIONS, type OperationId } from '../routes.ts'
import { problemSchema } from '../schemas/problems.ts'
import { isRanged, requestHeadersOf } from './headers.ts'
import { plainSchemas } from './schemas.ts'
import { ANY_BYTES, descriptionOf, TAGS, tagOf } from './texts.ts'

/** Builds the OpenAPI 3.1 document only from the operation table. */
export function buildOpenApiDocument(): Record<string, unknown> {
  const paths: ZodOpenApiPathsObject = {}
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) }
  }
  const document = createDocument(
    {
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
          ticket: {
            type: 'apiKey',
            in: 'query',
            name: 'ticket',
            description: 'Ticket from `createTicket`. Works once, within 60 s, for the request it was created for.',
          },
        },
      },
    },
    { override: ({ jsonSchema }) => dropForText(jsonSchema) },
  )
  const plain = document as unknown as Record<string, unknown>
  plainSchemas(plain)
  return plain
}

/** Drops the constraints of the text form. A query is validated as text, but described by the type in `override`. */
function dropForText(jsonSchema: Record<string, unknown>): void {
  if (jsonSchema.override === undefined) return
  for (const keyword of ['enum', 'pattern', 'anyOf']) delete jsonSchema[keyword]
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const example = EXAMPLES[operation.id as OperationId]
  const { params, query } = operation
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [tagOf(operation)],
    security: securityOf(operation),
    'x-boxyard-retry': retryOf(operation),
    requestParams: {
      ...(isEmpty(params) ? {} : { path: params as z.ZodObject }),
      ...(isEmpty(query) ? {} : { query: query as z.ZodObject }),
      header: requestHeadersOf(operation),
    },
    ...requestBodyOf(operation, example.body),
    responses: responsesOf(operation, example.response),
  }
}

/**
 * Whether a client can repeat a request without an answer. `safe` changes nothing. With `idempotent`, two requests have the effect of one,
 * though a repeat may get another answer (404, 412). `key` needs the Idempotency-Key of the first request. `never` forbids it.
 */
type Retry = 'safe' | 'idempotent' | 'key' | 'never'

function retryOf({ id, method, transport }: Operation): Retry {
  if (transport === 'websocket' || SHOWS_SECRET_ONCE.has(id)) return 'never'
  if (method === 'GET') return 'safe'
  return method === 'POST' ? 'key' : 'idempotent'
}

function securityOf(operation: Operation): Record<string, string[]>[] {
  if (operation.permission === null) return [{}, { bearer: [] }]
  return opensByTicket(operation) ? [{ bearer: [] }, { ticket: [] }] : [{ bearer: [] }]
}

function requestBodyOf({ body, bytesIn }: Operation, example: unknown): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (body === null && bytesIn === null) return {}
  const content = {
    ...(bytesIn === null ? {} : { [ANY_BYTES]: { schema: BYTES } }),
    ...(body === null ? {} : { 'application/json': { schema: body, example } }),
  }
  return { requestBody: { required: true, content } }
}

function responsesOf(operation: Operation, example: unknown): ZodOpenApiOperationObject['responses'] {
  const { response, bytesOut, message } = operation
  const types = {
    ...bytesContentOf(operation),
    ...(response === null ? {} : { 'application/json': { schema: response, example } }),
    // The schema of one message. A generator that supports one type uses JSON, which is also the default answer.
    ...(message === null ? {} : { 'text/event-stream': { schema: message } }),
    ...(HAS_PAGE.has(operation.id) ? { 'text/html': { schema: PAGE } } : {}),
  }
  const content = response === null && bytesOut === null ? {} : { content: types }
  const later = 'Accepted, but the effect is still in progress. Wait on `Operation-Location`.'
  const responses: ZodOpenApiOperationObject['responses'] = {
    [String(operation.status) as '200']: { description: operation.outcome, ...content },
    ...(operation.laterStatus === null
      ? {}
      : { [String(operation.laterStatus)]: { description: later, ...laterContentOf(operation, content) } }),
    ...(bytesOut === null ? {} : { 307: ELSEWHERE }),
    ...(isRanged(operation) ? rangedResponses(types) : {}),
    ...(operation.transport === 'websocket' ? { 101: UPGRADED } : {}),
  }
  for (const [status, codes] of errorsByStatus(operation)) {
    responses[String(status) as '400'] = {
      description: codes.map((code) => `\`${code}\``).join(', '),
      content: { 'application/problem+json': { schema: problemSchema } },
    }
  }
  return responses
}

/** Describes bytes by their own type and by the type that every generator knows, because some omit an operation with only another one. */
function bytesContentOf({ bytesOut, message }: Operation): Record<string, { schema: typeof BYTES }> {
  if (bytesOut === null || bytesOut === 'application/json' || message !== null) return {}
  return { [ANY_BYTES]: { schema: BYTES }, [bytesOut]: { schema: BYTES } }
}

function laterContentOf({ laterResponse }: Operation, content: object): object {
  return laterResponse === null ? content : { content: { 'application/json': { schema: laterResponse } } }
}

function rangedResponses(content: object): object {
  const headers = { ETag: ETAG, 'Accept-Ranges': { description: '`bytes`.', schema: { type: 'string' } } }
  const contentRange = { description: 'Range and total: `bytes 0-99/1234`.', schema: { type: 'string' } }
  return {
    200: { description: 'Success', headers, content },
    206: {
      description: 'The requested range',
      headers: { ...headers, 'Content-Range': contentRange },
      content: { [ANY_BYTES]: { schema: BYTES } },
    },
    304: { description: 'The ETag still matches `If-None-Match`', headers: { ETag: ETAG } },
  }
}

function errorsByStatus(operation: Operation): Map<number, ErrorCode[]> {
  return Map.groupBy(errorsOf(operation), (code) => ERROR_STATUSES.get(code) ?? 500)
}

function isEmpty(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0
}

const PAGE = { type: 'string' } as const
const BYTES = { type: 'string', format: 'binary' } as const
const ETAG = { description: 'Changes with every change of the resource.', schema: { type: 'string' } } as const
const ELSEWHERE = {
  description: 'Too large for this address. `Location` serves it once, within 60 s.',
  headers: { Location: { description: 'A URL with a ticket.', schema: { type: 'string' } } },
} as const
const UPGRADED = {
  description: 'Switching protocols',
  headers: {
    'Sec-WebSocket-Protocol': { description: 'The selected subprotocol.', schema: { type: 'string' } },
    'X-Exec-Id': { description: 'Id of the command, if one runs.', schema: { type: 'string' } },
  },
} as const
/** Operations whose answer has a secret, which a replay of an Idempotency-Key omits. */
const SHOWS_SECRET_ONCE: ReadonlySet<string> = new Set<OperationId>([
  'createToken',
  'createTicket',
  'createProjectTicket',
  'signIn',
  'createSignInLink',
])
/** Operations that return a page to a client that prefers one. */
const HAS_PAGE: ReadonlySet<string> = new Set<OperationId>(['listProblems', 'getProblem'])

import * as z from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import { ERROR_STATUSES, type ErrorCode } from './errors.ts'
import { EXAMPLES } from './examples/examples.ts'
import { type Operation, takesTicket } from './operation.ts'
import { errorsOf } from './operation-errors.ts'
import { OPERATIONS, type OperationId } from './routes.ts'

/** Builds the OpenAPI 3.1 document from the operation table alone. */
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
            description: 'A ticket of `createTicket`: good once, for 60 s, for the request that it was given for.',
          },
        },
      },
    },
    { override: ({ jsonSchema }) => dropForText(jsonSchema) },
  )
  return document as unknown as Record<string, unknown>
}

/** Drops the constraints of the text form: a query is validated as text, but described by the type in `override`. */
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
    requestParams: {
      ...(isEmpty(params) ? {} : { path: params as z.ZodObject }),
      ...(isEmpty(query) ? {} : { query: query as z.ZodObject }),
      header: headersOf(operation),
    },
    ...requestBodyOf(operation, example.body),
    responses: responsesOf(operation, example.response),
  }
}

function securityOf(operation: Operation): Record<string, string[]>[] {
  if (operation.permission === null) return [{}, { bearer: [] }]
  return takesTicket(operation) ? [{ bearer: [] }, { ticket: [] }] : [{ bearer: [] }]
}

function requestBodyOf({ body, bytesIn }: Operation, example: unknown): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (body === null && bytesIn === null) return {}
  const content = {
    ...(bytesIn === null ? {} : { [bytesIn]: { schema: BYTES } }),
    ...(body === null ? {} : { 'application/json': { schema: body, example } }),
  }
  return { requestBody: { required: true, content } }
}

function responsesOf(operation: Operation, example: unknown): ZodOpenApiOperationObject['responses'] {
  const { response, bytesOut } = operation
  const types = {
    ...(bytesOut === null ? {} : { [bytesOut]: { schema: BYTES } }),
    ...(response === null ? {} : { 'application/json': { schema: response, example } }),
    ...(HAS_PAGE.has(operation.id) ? { 'text/html': { schema: PAGE } } : {}),
  }
  const content = response === null && bytesOut === null ? {} : { content: types }
  const later = 'Accepted; the effect is not there yet. `Operation-Location` names what to wait on.'
  const responses: ZodOpenApiOperationObject['responses'] = {
    [String(operation.status) as '200']: { description: operation.outcome, ...content },
    ...(operation.laterStatus === null
      ? {}
      : { [String(operation.laterStatus)]: { description: later, ...laterContentOf(operation, content) } }),
    ...(bytesOut === null ? {} : { 307: ELSEWHERE }),
    ...(isRanged(operation) ? rangedResponses(types, bytesOut) : {}),
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

function laterContentOf({ laterResponse }: Operation, content: object): object {
  return laterResponse === null ? content : { content: { 'application/json': { schema: laterResponse } } }
}

/** Returns true if a client may request a range of the answer. */
function isRanged({ errors }: Operation): boolean {
  return errors.includes('range_not_satisfiable')
}

function rangedResponses(content: object, bytesOut: string | null): object {
  const part = { [bytesOut ?? '']: { schema: BYTES } }
  const headers = { ETag: ETAG, 'Accept-Ranges': { description: '`bytes`.', schema: { type: 'string' } } }
  const contentRange = { description: 'Range and total: `bytes 0-99/1234`.', schema: { type: 'string' } }
  return {
    200: { description: 'Success', headers, content },
    206: {
      description: 'The range that was requested',
      headers: { ...headers, 'Content-Range': contentRange },
      content: part,
    },
    304: { description: 'The ETag is still the one of `If-None-Match`', headers: { ETag: ETAG } },
  }
}

function errorsByStatus(operation: Operation): Map<number, ErrorCode[]> {
  return Map.groupBy(errorsOf(operation), (code) => ERROR_STATUSES.get(code) ?? 500)
}

function headersOf(operation: Operation): z.ZodObject {
  return z.object({
    'X-Request-Id': z.string().max(128).optional().meta({ description: 'Echoed; generated by default.' }),
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
      ? { 'If-None-Match': z.string().optional().meta({ description: 'Answers 304 if the ETag still matches.' }) }
      : { 'If-Match': z.string().optional().meta({ description: 'Answers 412 unless the ETag matches.' }) }),
    ...(MAKES_ONLY_NEW.has(operation.id)
      ? { 'If-None-Match': z.literal('*').optional().meta({ description: 'Answers 412 if the path exists.' }) }
      : {}),
    ...(isRanged(operation)
      ? { Range: z.string().optional().meta({ description: 'One range of bytes: `bytes=0-99`, `bytes=-100`.' }) }
      : {}),
    ...(operation.transport === 'websocket' ? { 'Sec-WebSocket-Protocol': protocolsSchema } : {}),
  })
}

function descriptionOf(operation: Operation): string {
  const { permission } = operation
  if (permission === null) return `${operation.summary}. Needs no token.${BAD_TOKEN_TEXTS[operation.badToken]}`
  const scope = operation.ofAllProjects ? ' for all projects' : ''
  const needs = `Needs ${permission === 'any' ? 'a valid token' : `a token with \`${permission}\`${scope}`}`
  const orTicket = takesTicket(operation) ? ', or a ticket' : ''
  return [`${operation.summary}. ${needs}${orTicket}.`, ...paragraphsOf(operation)].join('\n\n')
}

function paragraphsOf({ id, transport, bytesIn, bytesOut, response }: Operation): string[] {
  return [
    ...(transport === 'websocket' ? [WEBSOCKET_TEXT] : []),
    ...(bytesIn === null ? [] : [`${BYTES_IN_TEXT} as \`${bytesIn}\`, of any length. ${BYTES_IN_END}`]),
    ...(id === 'writeArchive' ? [ARCHIVE_IN_TEXT] : []),
    ...(id === 'createBase' ? [BASE_TEXT] : []),
    ...(id === 'deleteBase' ? [BASE_GONE_TEXT] : []),
    ...(bytesOut === 'text/event-stream' ? [EVENT_STREAM_TEXT] : []),
    ...(bytesOut === null || NAMED_TYPES.has(bytesOut) || response === null
      ? []
      : ['`Accept: application/json` asks for JSON.']),
  ]
}

function tagOf(operation: Operation): string {
  if (operation.transport === 'websocket' || /\/(sessions|tickets)\b/.test(operation.path)) return 'streams'
  if (operation.path.includes('/files')) return 'files'
  if (operation.path.includes('/services')) return 'services'
  if (operation.path.endsWith('/events') || operation.path === '/v1/audit') return 'events'
  if (operation.path.includes('/exec')) return 'exec'
  if (operation.path.includes('/boxes')) return 'boxes'
  if (operation.path.includes('/bases')) return 'bases'
  if (operation.path.includes('/data') || operation.path.endsWith('/backups')) return 'data'
  if (operation.path.endsWith('/quota')) return 'quota'
  return operation.path.startsWith('/v1/tokens') || operation.path === '/v1/me' ? 'tokens' : 'system'
}

function isEmpty(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0
}

const problemSchema = z
  .looseObject({
    type: z.string().meta({ description: 'Path at the answering origin that explains the code.' }),
    title: z.string().meta({ description: 'Short name of the code, for people.' }),
    status: z.int().meta({ description: 'HTTP status of the answer.' }),
    detail: z.string().meta({ description: 'What went wrong with this request, for people.' }),
    code: z.enum([...ERROR_STATUSES.keys()] as [ErrorCode, ...ErrorCode[]]).meta({ id: 'ErrorCode' }),
    request_id: z.string().meta({ description: 'Id of the request, as in `X-Request-Id` and the logs.' }),
    retryable: z.boolean().meta({ description: 'Whether the same request may succeed later.' }),
    errors: z
      .array(
        z.looseObject({
          pointer: z
            .string()
            .meta({ description: 'JSON Pointer (RFC 6901) into the body, or below `/query`, `/path` or `/headers`.' }),
          detail: z.string().meta({ description: 'What is wrong there.' }),
        }),
      )
      .optional()
      .meta({ description: 'Faults of the request, at most 50; only with `invalid_request`.' }),
  })
  .meta({ id: 'Problem', description: 'The one error shape, RFC 9457.' })

const protocolsSchema = z.string().meta({ description: 'At least one of the subprotocols below.' })
const PAGE = { type: 'string' } as const
const BYTES = { type: 'string', format: 'binary' } as const
const ETAG = { description: 'Changes with every change of the resource.', schema: { type: 'string' } } as const
const ELSEWHERE = {
  description: 'Too large for this address: `Location` serves it, once and within 60 s.',
  headers: { Location: { description: 'A URL with a ticket.', schema: { type: 'string' } } },
} as const
const UPGRADED = {
  description: 'Switching protocols',
  headers: {
    'Sec-WebSocket-Protocol': { description: 'The subprotocol that was chosen.', schema: { type: 'string' } },
    'X-Exec-Id': { description: 'Id of the command, if one is run.', schema: { type: 'string' } },
  },
} as const
const WEBSOCKET_TEXT = `Asks for an upgrade to a WebSocket (RFC 6455) with one of these subprotocols:

- \`v5.channel.k8s.io\`: binary messages, whose first byte is the channel; \`[255, channel]\` closes one. Text of a client is taken as its bytes.
- \`v4.channel.k8s.io\`: the same without closing.
- \`v4.base64.channel.k8s.io\`: text messages: an ASCII digit for the channel, then base64.

Channels: 0 stdin, 1 stdout, 2 stderr, 3 status, 4 resize. Resize carries \`{"Width":80,"Height":24}\`. Status carries, once, a
Kubernetes \`Status\`: \`Success\`, or \`Failure\` with reason \`NonZeroExitCode\` and the cause \`ExitCode\`; a signal ends as code
128 + n. The server then closes with 1000. It pings every 15 s, and leaves a peer that is silent for 45 s.`
const BYTES_IN_TEXT = 'The body is sent as it is,'
const BYTES_IN_END =
  'One that breaks off changes nothing that was whole before. A function takes 4 MiB: use a ticket for more.'
const EVENT_STREAM_TEXT = `\`Accept: text/event-stream\` asks for a stream, of an item a message: its \`id\` is the cursor, which \`Last-Event-ID\` goes on from. A
message without data comes every 15 s; one named \`problem\` says why the stream ends.`
const BAD_TOKEN_TEXTS = { refused: '', ignored: ' One that is broken, expired or revoked counts as none.' } as const
/** Types whose request is described elsewhere. */
const NAMED_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream'])
const ARCHIVE_IN_TEXT =
  'Entries are made as they come: those before the point at which the body breaks off, or is found to be altered, stay.'
const BASE_TEXT = [
  'An image is pulled from its registry, at public addresses alone unless the operator has named it; deleting its base ends that.',
  'The tar of a root filesystem may be compressed (gzip, zstd); `?name=` names its base. What leads out of the tree, and every',
  'device, is left out and told in `unpacked`. With `image=true` it is the archive of an image (OCI, or of `docker save`).',
  'An Idempotency-Key stands for the name alone, whatever the archive holds.',
].join('\n')
const BASE_GONE_TEXT =
  '`X-Used-By-Count` tells how many boxes of your projects were made from it. They are copies: nothing happens to them.'
/** Operations that take `If-None-Match: *`. */
const MAKES_ONLY_NEW: ReadonlySet<string> = new Set<OperationId>(['writeFile'])

/** Operations that answer a page to a client that prefers one. */
const HAS_PAGE: ReadonlySet<string> = new Set<OperationId>(['listProblems', 'getProblem'])

const TAGS: Record<string, string> = {
  system: 'Health, version, configuration, storage, operations',
  tokens: 'Access tokens',
  boxes: 'Boxes, their life cycle and snapshots',
  services: 'Services and their versions',
  events: 'Events and the audit log',
  exec: 'Commands in boxes',
  streams: 'WebSockets, consoles and tickets',
  files: 'Files of boxes',
  data: 'Data volumes, their snapshots and backups',
  quota: 'What a project may use',
}

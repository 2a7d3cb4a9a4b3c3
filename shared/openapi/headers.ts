import * as z from 'zod'
import { PORT_PROTOCOL } from '../http/port-frames.ts'
import type { Operation } from '../operation.ts'
import type { OperationId } from '../routes.ts'

/** Describes the headers that a request of an operation can have besides its credentials and body headers. */
export function requestHeadersOf(operation: Operation): z.ZodObject {
  const { id, method } = operation
  return z.object({
    'X-Request-Id': requestIdSchema,
    ...(method === 'POST' ? { 'Idempotency-Key': keySchema } : {}),
    ...(method === 'GET' ? { 'If-None-Match': noneMatchSchema } : { 'If-Match': matchSchema }),
    ...(MAKES_ONLY_NEW.has(id) ? { 'If-None-Match': onlyNewSchema } : {}),
    ...(isRanged(operation) ? { Range: rangeSchema } : {}),
    ...(operation.message === null ? {} : { 'Last-Event-ID': lastEventSchema }),
    ...(operation.transport === 'websocket'
      ? { 'Sec-WebSocket-Protocol': operation.id === 'openPort' ? portProtocolSchema : protocolsSchema }
      : {}),
  })
}

/** Returns true if a client may request a range of the answer. */
export function isRanged({ bytesOut, errors }: Operation): boolean {
  return bytesOut !== null && errors.includes('range_not_satisfiable')
}

const requestIdSchema = z.string().optional().meta({
  description:
    'Request id of 1–128 printable ASCII characters, returned in the response. If it is absent or invalid, the service creates one.',
})
const keySchema = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({ description: 'Makes retries safe. A repeat within 24 h returns the stored response.' })
const noneMatchSchema = z.string().optional().meta({ description: 'Returns 304 if the ETag still matches.' })
const matchSchema = z.string().optional().meta({ description: 'Returns 412 unless the ETag matches.' })
const onlyNewSchema = z.string().regex(/^\*$/).optional().meta({ description: '`*` returns 412 if the path exists.' })
const rangeSchema = z
  .string()
  .optional()
  .meta({ description: 'One range of bytes, such as `bytes=0-99` or `bytes=-100`.' })
const lastEventSchema = z
  .string()
  .optional()
  .meta({ description: 'For a stream, the `id` of the message to continue after.' })
const protocolsSchema = z.string().meta({ description: 'At least one of the subprotocols below.' })
const portProtocolSchema = z
  .string()
  .optional()
  .meta({ description: `\`${PORT_PROTOCOL}\`, or none.` })
/** Operations that take `If-None-Match: *`. */
const MAKES_ONLY_NEW: ReadonlySet<string> = new Set<OperationId>(['writeFile'])

import type * as z from 'zod'
import { type FieldFault, ServiceError } from './errors.ts'
import { faultWords } from './fault-words.ts'
import type { Operation } from './operation.ts'

/** The input of a request before validation. `body` is parsed JSON, or undefined if there was none. */
export interface RawInput {
  params: Record<string, string>
  query: URLSearchParams
  body: unknown
  /** True if the body is bytes, which are not validated, instead of JSON. */
  isBytes?: boolean
}

/** The input of a request, as the operation's schemas parse it. */
export interface Input {
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
}

/**
 * Checks path, query and body against the operation.
 * @throws ServiceError `invalid_request` with a pointer to each fault: into the body, `/path/…`, `/query/…`
 */
export function validateRequest(operation: Operation, raw: RawInput): Input {
  const faults: FieldFault[] = []
  const params = parse(operation.params, raw.params, { prefix: '/path', faults })
  const query = parse(operation.query, queryRecord(raw.query), { prefix: '/query', faults })
  const body = raw.isBytes === true ? undefined : parseBody(operation, raw.body, faults)
  if (faults.length > 0) throw invalidRequest(faults)
  return { params: params as Record<string, string>, query: query as Record<string, unknown>, body }
}

/**
 * Parses input that arrives outside of a request, such as a message. @throws ServiceError `invalid_request`, with a pointer to each fault
 */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const faults: FieldFault[] = []
  const parsed = parse(schema, value, { prefix: '', faults })
  if (faults.length > 0) throw invalidRequest(faults)
  return parsed as z.output<Schema>
}

/** Returns the error for `faults`. A sentence describes the first one, and a list has all. */
export function invalidRequest(faults: FieldFault[]): ServiceError {
  const first = faults[0]
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  const detail = first ? `${first.pointer || 'The body'}: ${first.detail}${more}.` : 'The request is not valid.'
  return new ServiceError('invalid_request', detail, { errors: faults.slice(0, MAX_FAULTS) })
}

function parseBody(operation: Operation, body: unknown, faults: FieldFault[]): unknown {
  if (operation.body) {
    if (body !== undefined) return parse(operation.body, body, { prefix: '', faults })
    faults.push({ pointer: '', detail: 'a JSON body is required' })
  } else if (operation.bytesIn !== null) {
    faults.push({ pointer: '/headers/content-type', detail: `must be ${operation.bytesIn}` })
  } else if (body !== undefined && !isEmptyObject(body)) {
    faults.push({ pointer: '', detail: 'this operation takes no body' })
  }
  return undefined
}

function parse(
  schema: z.ZodType,
  value: unknown,
  { prefix, faults }: { prefix: string; faults: FieldFault[] },
): unknown {
  const result = schema.safeParse(value, { error: faultWords })
  if (result.success) return result.data
  for (const issue of result.error.issues) faults.push(...faultsOf(issue, prefix))
  return undefined
}

function faultsOf(issue: z.core.$ZodIssue, prefix: string): FieldFault[] {
  const pointer = prefix + issue.path.map((key) => `/${escapePointer(String(key))}`).join('')
  if (issue.code === 'unrecognized_keys') {
    const detail = prefix === '/query' ? 'is not a known parameter' : 'is not a known field'
    // There may be thousands. The error lists only the first ones.
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({ pointer: `${pointer}/${escapePointer(key)}`, detail }))
  }
  if (issue.code === 'invalid_key') {
    return [{ pointer, detail: issue.issues[0]?.message ?? issue.message }]
  }
  return [{ pointer, detail: issue.message }]
}

function queryRecord(query: URLSearchParams): Record<string, string | string[]> {
  const record = Object.create(null) as Record<string, string | string[]>
  // Uses one pass, because there may be thousands.
  for (const [key, value] of query) {
    const before = record[key]
    if (Array.isArray(before)) before.push(value)
    else record[key] = before === undefined ? value : [before, value]
  }
  return { ...record }
}

function escapePointer(key: string): string {
  return key.slice(0, MAX_KEY).replaceAll('~', '~0').replaceAll('/', '~1')
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}

const MAX_FAULTS = 50
const MAX_KEY = 200

import { ApiError, type RequestFault } from '@boxyard/sdk'
import { faultSentence } from '../api/error-words.ts'

/** A refusal that this page finds itself, in the value of a field. */
export class FieldError extends Error {
  /** Name of the field. */
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.name = 'FieldError'
    this.field = field
  }
}

/** A refusal at a field. */
export interface PlacedFault {
  words: string
  /** Fields whose change makes it untrue. */
  endedBy: readonly string[]
}

/** Texts of a refusal by field, and the rest without a field, or null. */
export interface PlacedFaults {
  at: ReadonlyMap<string, PlacedFault>
  rest: unknown
}

/** Returns where to show each part of a refusal. `fields` maps the API's names of values to the fields of the form. */
export function placeFaults(error: unknown, fields: ReadonlyMap<string, string>): PlacedFaults {
  const at = new Map<string, PlacedFault>()
  if (error instanceof FieldError && [...fields.values()].includes(error.field)) {
    at.set(error.field, { words: error.message, endedBy: [error.field] })
    return { at, rest: null }
  }
  if (!(error instanceof ApiError)) return { at, rest: error }
  if (error.errors.length > 0) return placeErrors(error, fields)
  const named = fieldsOf(error).flatMap((name) => fields.get(name) ?? [])
  const [first] = named
  if (first === undefined) return { at, rest: error }
  const others = (ENDED_BY[error.code] ?? []).flatMap((name) => fields.get(name) ?? [])
  at.set(first, { words: error.message, endedBy: [...named, ...others] })
  return { at, rest: null }
}

function placeErrors(error: ApiError, fields: ReadonlyMap<string, string>): PlacedFaults {
  const at = new Map<string, PlacedFault>()
  const left: RequestFault[] = []
  for (const fault of error.errors) {
    const { name, rest } = partsOf(fault.pointer)
    const field = fields.get(name) ?? (name === 'config' ? undefined : fields.get(rest[0] ?? ''))
    if (field === undefined) left.push(fault)
    else if (!at.has(field)) at.set(field, { words: wordsAt(fault.detail, rest), endedBy: [field] })
  }
  if (left.length === 0) return { at, rest: null }
  const { code, status, requestId, retryable, body } = error
  const detail = left.map(faultSentence).join(' ')
  return { at, rest: new ApiError({ code, status, detail, requestId, retryable, errors: left }, body) }
}

/** Returns the name that a pointer leads to, without mere containers, and the path after it. */
function partsOf(pointer: string): { name: string; rest: string[] } {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const held = parts.findIndex((part) => !HOLDERS.has(part))
  const [name = '', ...rest] = held < 0 ? parts : parts.slice(held)
  return { name, rest: rest.filter((part) => !/^\d+$/.test(part)) }
}

/** Describes at a field what is wrong with its value, or with a named part of it. */
function wordsAt(detail: string, rest: readonly string[]): string {
  const end = /[.!?]$/.test(detail) ? '' : '.'
  if (detail === 'is required' && rest.length === 0) return 'This field is required.'
  if (!VERB.test(detail)) return `${detail.charAt(0).toUpperCase()}${detail.slice(1)}${end}`
  return `${rest.length === 0 ? 'It' : `“${rest.join('/')}”`} ${detail}${end}`
}

/** Returns the fields, by the names of the API, that a refusal without pointers is about. */
function fieldsOf({ code, message }: ApiError): readonly string[] {
  if (code !== 'quota_exceeded') return FIELDS[code] ?? []
  if (/ MiB /.test(message)) return ['ram_mb']
  if (/ GiB /.test(message)) return ['storage_gb', 'size_gb']
  return / (cpus|cores) /.test(message) ? ['cpus'] : []
}

/** Parts of a pointer that are only containers. */
const HOLDERS: ReadonlySet<string> = new Set(['query', 'path', 'headers', 'config', 'allowed'])
/** Words that begin a text about the value. Other texts are whole sentences. */
const VERB = /^(must|is|are|has|have|needs|names|holds|begins|ends|leads|takes|belongs)\b/
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  name_taken: ['name', 'as'],
  base_not_found: ['base'],
  box_not_found: ['box'],
  volume_not_found: ['from'],
  snapshot_not_found: ['snapshot', 'from_snapshot'],
  backup_not_found: ['from_backup'],
  below_use: ['storage_gb', 'size_gb'],
  volume_too_small: ['size_gb'],
  volume_in_use: ['box'],
  volume_on_other_node: ['box'],
  mount_path_taken: ['path'],
  environment_reserved: ['env'],
  domain_taken: ['domains'],
  domain_unverified: ['domains'],
  path_invalid: ['path', 'cwd', 'name'],
  file_not_found: ['path', 'cwd', 'name'],
  not_a_directory: ['path', 'cwd', 'name'],
  is_a_directory: ['path', 'name'],
  directory_not_empty: ['path', 'name'],
  precondition_failed: ['name'],
}
/** Further fields whose change makes a refusal untrue. */
const ENDED_BY: Readonly<Record<string, readonly string[]>> = {
  name_taken: ['project', 'shared'],
  base_not_found: ['project'],
  box_not_found: ['project'],
  quota_exceeded: ['project'],
  volume_in_use: ['read_only'],
  volume_on_other_node: ['read_only'],
  mount_path_taken: ['box'],
}

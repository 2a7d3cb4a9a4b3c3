import { ApiError, ConnectionError, type RequestFault } from '@boxyard/sdk'

/** Returns the text of an error for people, without pointers into a request and without the texts of a browser or its network. */
export function errorWords(error: unknown): string {
  if (error instanceof ApiError) return apiWords(error)
  if (error instanceof ConnectionError) return isSentence(error) ? error.message : unreachableWords()
  // A browser's own messages are for page authors.
  if (error instanceof DOMException || NATIVE.some((Class) => error instanceof Class)) return BROKEN
  return error instanceof Error ? error.message : BROKEN
}

/** Returns a page title for an error. */
export function failureTitle(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof ConnectionError ? UNREACHABLE : 'Something went wrong'
  const [, thing] = /^(.+)_not_found$/.exec(error.code) ?? []
  if (thing !== undefined) return `${thing.charAt(0).toUpperCase()}${thing.slice(1).replaceAll('_', ' ')} not found`
  if (error.status === 403) return 'Permission denied'
  return error.status >= 500 ? UNREACHABLE : 'Something went wrong'
}

/** Reports that the service does not answer, and whether this device is offline. */
export function unreachableWords(): string {
  return globalThis.navigator?.onLine === false ? 'This device is offline.' : 'Boxyard cannot be reached.'
}

/** Returns a fault of a request as a sentence, with its field in words. */
export function faultSentence({ pointer, detail }: RequestFault): string {
  const part = pointer.split('/').findLast((each) => each !== '' && !/^\d+$/.test(each)) ?? ''
  const name = NAMES[part] ?? part.replace(/_(seconds|bytes|base64)$/, '').replaceAll('_', ' ')
  const label = name === '' ? 'The request' : `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const end = /[.!?]$/.test(detail) ? '' : '.'
  return /^(must|is|are|has|needs|names)\b/.test(detail) ? `${label} ${detail}${end}` : `${label}: ${detail}${end}`
}

function apiWords(error: ApiError): string {
  const [first, ...more] = error.errors
  if (first !== undefined) return more.length === 0 ? faultSentence(first) : 'Some values are not valid:'
  if (error.code === 'unexpected_answer' && error.status >= 500) return 'Boxyard does not respond. Try again soon.'
  return error.message
}

/** Returns whether users can understand the message. A broken connection has a message of its platform. */
function isSentence({ message, cause }: Error): boolean {
  return cause === undefined && /^[A-Z].*\.$/.test(message)
}

const UNREACHABLE = "Can't reach Boxyard"
const BROKEN = 'Something went wrong on this page. Try again, or reload it.'
const NATIVE = [TypeError, SyntaxError, RangeError, ReferenceError]
/** Fields whose names explain too little. */
const NAMES: Readonly<Record<string, string>> = {
  cpus: 'CPU',
  ram_mb: 'memory',
  storage_gb: 'disk',
  size_gb: 'size',
  env: 'environment',
  cwd: 'directory',
  domains: 'domain',
}

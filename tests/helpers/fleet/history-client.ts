import type { Answer, CallOptions } from '../front/client.ts'
import type { CallOutcome, CallRequest, HistoryCall, Kind, SeenResource } from './history.ts'

/** A gateway of a fleet, as clients use it. */
export interface Door {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
}

/** Sends requests and records a history of them. */
export interface HistoryClient {
  calls: readonly HistoryCall[]
  /** Answers that a client must never get. */
  oddities: readonly string[]
  make(door: number, request: CallRequest, more?: { isFinal?: boolean }): Promise<HistoryCall>
}

/** Creates a client of one project that can use any of `doors`. */
export function createHistoryClient(doors: readonly Door[], project: string): HistoryClient {
  const calls: HistoryCall[] = []
  const oddities: string[] = []
  return {
    calls,
    oddities,
    make: async (door, request, { isFinal = false } = {}) => {
      const { method, path, options } = messageOf(request, project)
      const begun = performance.now()
      const answer = await doors[door]?.call(method, path, options).catch(() => null)
      const outcome = answer ? outcomeOf(request, answer) : UNKNOWN
      if (answer && ODD.has(answer.status)) oddities.push(`${method} ${path} → ${answer.status} ${answer.text}`)
      const ended = outcome.is === 'unknown' ? Number.POSITIVE_INFINITY : performance.now()
      const call: HistoryCall = { door, begun, ended, request, outcome, isFinal }
      calls.push(call)
      return call
    },
  }
}

interface Message {
  method: string
  path: string
  options?: CallOptions
}

function messageOf(request: CallRequest, project: string): Message {
  const base = `/v1/projects/${project}`
  const all = (kind: Kind): string => `${base}/${kind === 'box' ? 'boxes' : 'data'}`
  switch (request.op) {
    case 'create': {
      const size = request.kind === 'box' ? { config: { ram_mb: 64 } } : { size_gb: 0.1 }
      const body = { name: request.name, tags: { key: request.key }, ...size }
      return { method: 'POST', path: all(request.kind), options: { body, headers: { 'idempotency-key': request.key } } }
    }
    case 'get':
      return { method: 'GET', path: `${all(request.kind)}/${request.name}` }
    case 'delete':
      return { method: 'DELETE', path: `${all(request.kind)}/${request.name}?wait_seconds=5` }
    case 'list':
      return { method: 'GET', path: `${all(request.kind)}?max_results=1000` }
    case 'count':
      return { method: 'GET', path: `${base}/quota` }
    case 'attach':
    case 'detach': {
      const path = `${all('volume')}/${request.volume}/${request.op}?wait_seconds=2`
      return { method: 'POST', path, options: { body: { box: request.box, ...mountOf(request) } } }
    }
    case 'write':
    case 'read':
      return { method: 'POST', path: `${all('box')}/${request.by}/exec`, options: { body: { shell: lineOf(request) } } }
  }
}

function mountOf(request: CallRequest): { path?: string } {
  return request.op === 'attach' ? { path: `/mnt/${request.volume}` } : {}
}

/**
 * Returns a command line that writes or reads the file. For a volume, it works only while the volume is mounted. The working directory
 * keeps the mount in use, and must be on another device than the root.
 */
function lineOf(request: CallRequest & { op: 'write' | 'read' }): string {
  const { kind, name } = request
  const place =
    kind === 'box' ? 'cd /root' : `cd /mnt/${name} && [ "$(stat -c %d .)" != "$(stat -c %d /)" ] || exit ${NOT_HERE}`
  const work = request.op === 'write' ? `echo ${request.value} >new && mv new value && sync` : 'cat value'
  return `${place}; ${work}`
}

function outcomeOf(request: CallRequest, { status, body }: Answer): CallOutcome {
  const code = String(body?.code)
  if (status === 404 && GONE.has(code)) return isOfAnother(request) ? { is: 'refused', code } : { is: 'absent' }
  if (status >= 500 || status === 202 || status === 404 || code === 'idempotency_in_progress') return UNKNOWN
  if (status >= 400) return { is: 'refused', code }
  switch (request.op) {
    case 'create':
    case 'get':
      return { is: 'done', seen: [seenOf(body)] }
    case 'list':
      return { is: 'done', seen: (body.boxes ?? body.volumes).map(seenOf) }
    case 'count':
      return { is: 'done', count: body.used.boxes }
    case 'read':
    case 'write':
      return ranTo(request, body)
    case 'delete':
    case 'attach':
    case 'detach':
      return { is: 'done' }
  }
}

/** Returns true for calls that answer 404 also when their box is missing. */
function isOfAnother(request: CallRequest): boolean {
  if (request.op === 'attach') return true
  return (request.op === 'read' || request.op === 'write') && request.kind === 'volume'
}

function ranTo({ op }: CallRequest, { status, exit_code: exitCode, stdout }: Exec): CallOutcome {
  if (status !== 'exited') return UNKNOWN
  if (exitCode === NOT_HERE) return { is: 'refused', code: 'not_mounted' }
  if (op === 'write') return exitCode === 0 ? { is: 'done' } : UNKNOWN
  return exitCode === 0 ? { is: 'done', value: stdout.trim() } : { is: 'absent' }
}

interface Exec {
  status: string
  exit_code: number | null
  stdout: string
}

interface Resource {
  name: string
  id: string
  tags?: Record<string, string>
  attachments?: { box: string; read_only: boolean }[]
}

function seenOf({ name, id, tags, attachments = [] }: Resource): SeenResource {
  const writers = attachments.filter((each) => !each.read_only).map(({ box }) => box)
  return { name, id, key: tags?.['key'] ?? null, writers }
}

const UNKNOWN: CallOutcome = { is: 'unknown' }
const GONE: ReadonlySet<string> = new Set(['box_not_found', 'volume_not_found'])
/** Status of an unexpected fault, and a status that only cells may send to each other. */
const ODD: ReadonlySet<number> = new Set([421, 500])
/** Exit code if the volume is not mounted. */
const NOT_HERE = 77

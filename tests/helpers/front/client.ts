import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, request } from 'undici'
import { addEvidence, keepLastLines } from '../evidence.ts'

/** An API answer with its JSON parsed. */
export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  // Untyped: tests read the fields that the contract defines.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is under test
  body: any
  text: string
  bytes: Buffer
}

export interface CallOptions {
  /** Body to send as JSON. */
  body?: unknown
  /** Body to send unchanged, with the content type application/json. */
  raw?: string | Uint8Array
  headers?: Record<string, string>
  /** Replaces the client's own token. Null sends none. */
  token?: string | null
}

/** A client of one deployment, with one token. */
export interface Client {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  get(path: string, options?: CallOptions): Promise<Answer>
  post(path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  put(path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  delete(path: string, options?: CallOptions): Promise<Answer>
  /** Runs a command line in a box of a project. Returns the Exec once it has ended, or at once if `more` has `no_hup`. */
  shell(project: string, box: string, line: string, more?: Record<string, unknown>): Promise<Answer>
  /**
   * Reads a resource or list of a project after each event of the project, until `isSo` accepts the answer. Throws after two minutes. Does
   * not work for state without an event, such as the health of a service.
   */
  until(path: string, isSo: (answer: Answer) => boolean): Promise<Answer>
}

/** Creates a client of the front at `url`. Follows one redirect, as browsers do. A request fails after `timeoutMs` without a byte. */
export function createClient(url: () => string, token: () => string, timeoutMs = 60_000): Client {
  const refusals = keepLastLines('The last refusals of the service:')
  addEvidence(refusals.source)
  const call: Client['call'] = async (method, path, options = {}) => {
    const bearer = options.token === undefined ? token() : options.token
    const payload = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    const answer = await request(`${url()}${path}`, {
      method: method as 'GET',
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(payload === undefined ? {} : { body: payload }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    const { location } = answer.headers
    const read = await readAnswer(answer.statusCode === 307 ? await request(String(location)) : answer)
    if (read.status >= 400) refusals.note(`${method} ${path} ${read.status} ${read.text}`)
    return read
  }
  const get: Client['get'] = (path, options) => call('GET', path, options)
  return {
    call,
    get,
    post: (path, body, options) => call('POST', path, body === undefined ? options : { body, ...options }),
    put: (path, body, options) => call('PUT', path, body === undefined ? options : { body, ...options }),
    delete: (path, options) => call('DELETE', path, options),
    shell: async (project, box, line, more = {}) => {
      const path = `/v1/projects/${project}/boxes/${box}/exec`
      let answer = await call('POST', path, { body: { shell: line, ...more } })
      if (more['no_hup'] === true) return answer
      while (answer.body?.status === 'running') answer = await call('GET', `${path}/${answer.body.id}?wait_seconds=20`)
      return answer
    },
    until: (path, isSo) => untilEvent(get, path, isSo),
  }
}

async function untilEvent(get: Client['get'], path: string, isSo: (answer: Answer) => boolean): Promise<Answer> {
  const events = `${path.split('/', 4).join('/')}/events?max_results=1000`
  const deadline = Date.now() + 120_000
  for (let since = 'now'; ; ) {
    // The cursor is older than the answer, so the loop misses no event between them.
    const seen = await get(`${events}&since=${since}`)
    const answer = await get(path)
    if (isSo(answer)) return answer
    if (Date.now() > deadline) throw new Error(`${path} never became so: ${answer.text}`)
    if (seen.status !== 200) await sleep(RETRY_MS)
    since = seen.status === 200 ? `${seen.body.next_cursor}&wait_seconds=20` : 'now'
  }
}

async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Answer> {
  const bytes = Buffer.from(await body.bytes())
  const text = bytes.toString('utf8')
  return { status: statusCode, headers, text, bytes, body: parse(text) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** A command line for `shell`. It starts a process that ignores SIGTERM, and ends once the process does so. */
export const DEAF =
  "(trap '' TERM; touch /root/deaf; sleep 600) >/dev/null 2>&1 & until [ -e /root/deaf ]; do sleep 0.02; done"

/** Pause after events could not be read, for example while an agent starts. */
const RETRY_MS = 100

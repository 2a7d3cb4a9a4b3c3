import type { Dispatcher } from 'undici'
import { createGuardedConnector } from './addresses.ts'
import { imageFault } from './faults.ts'

export interface TransportOptions {
  /** Origins with any address allowed, and for `http:` without encryption. */
  named: ReadonlySet<string>
  connectMs: number
  /** Time-out for an answer to begin, and between its pieces. */
  silenceMs: number
  /** Aborts all requests. */
  signal: AbortSignal
}

/** Sends the requests of one pull, over connections of its own. */
export interface RegistryTransport {
  /**
   * Follows at most five redirects. Sends `authorization` only to the origin of `url`. Throws `invalid_request` for a forbidden target,
   * else the network's error.
   */
  get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Dispatcher.ResponseData>
  close(): void
}

/** Creates a transport, which connects at the first request. */
export async function openTransport(options: TransportOptions): Promise<RegistryTransport> {
  // Loaded at the first pull, since loading takes time.
  const { Agent, buildConnector, request } = await import('undici')
  const { named, connectMs, silenceMs, signal: end } = options
  const connect = createGuardedConnector(buildConnector, { named, timeoutMs: connectMs })
  const timeouts = { headersTimeout: silenceMs, bodyTimeout: silenceMs }
  const dispatcher = new Agent({ connect, ...timeouts })
  const close = (): void => {
    end.removeEventListener('abort', close)
    void dispatcher.destroy()
  }
  // The signal does not abort a request that waits for its connection.
  end.addEventListener('abort', close)
  return {
    close,
    get: async (url, headers, signal) => {
      const { authorization: _own, ...others } = headers
      let target = url
      for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
        checkTarget(target, named)
        const sent = target.origin === url.origin ? headers : others
        const answer = await request(target, { dispatcher, method: 'GET', headers: sent, signal })
        const location = REDIRECTS.has(answer.statusCode) ? answer.headers['location'] : undefined
        if (location === undefined) return answer
        await dropBody(answer)
        if (!URL.canParse(String(location), target.href)) throw imageFault('the registry redirects to no address')
        target = new URL(String(location), target)
      }
      throw imageFault('the registry redirects too often')
    },
  }
}

/** Discards the body of an answer. Keeps the connection if the body is short. */
export async function dropBody({ body }: Pick<Dispatcher.ResponseData, 'body'>): Promise<void> {
  await body.dump({ limit: DROPPED_BYTES, signal: AbortSignal.timeout(DROPPED_MS) }).catch(() => undefined)
}

function checkTarget(target: URL, named: ReadonlySet<string>): void {
  if (target.username !== '' || target.password !== '')
    throw imageFault('the registry leads to a place with a password')
  if (target.protocol === 'https:' || named.has(target.origin)) return
  throw imageFault('the registry leads to a place without encryption, which only the operator can allow')
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
const REDIRECTS_MAX = 5
const DROPPED_BYTES = 16 * 1024
const DROPPED_MS = 5_000

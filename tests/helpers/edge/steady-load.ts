import { Pool } from 'undici'

/** Requests at a constant rate over kept-alive connections. */
export interface SteadyLoad {
  /** Stops sending and waits for all answers. Resolves with the number of requests, the failures and the bodies received. */
  stop(): Promise<{ sent: number; failures: string[]; bodies: ReadonlyMap<string, number> }>
}

/**
 * Requests `url` from this host's edge `perSecond` times a second. `through` is the port of another edge. Every status but 200 is a
 * failure.
 */
export function startSteadyLoad(
  url: string,
  { perSecond, token, through }: { perSecond: number; token?: string; through?: number },
): SteadyLoad {
  const { host, port, pathname } = new URL(url)
  const pool = new Pool(`http://127.0.0.1:${through ?? port}`, { connections: CONNECTIONS, headersTimeout: TIMEOUT_MS })
  const headers = { host, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const bodies = new Map<string, number>()
  const failures: string[] = []
  const open = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sent = 0
  const ask = async (): Promise<void> => {
    try {
      const { statusCode, body } = await pool.request({ path: pathname, method: 'GET', headers })
      const text = await body.text()
      if (statusCode !== 200) failures.push(`${statusCode} ${text}`)
      else bodies.set(text, (bodies.get(text) ?? 0) + 1)
    } catch (error) {
      // The socket's traffic distinguishes a reset of a new connection from the end of a kept-alive one.
      const { socket } = error as { socket?: object }
      failures.push(`${String(error)} ${JSON.stringify(socket ?? {})}`)
    }
  }
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond)
    for (; sent < due; sent++) {
      const asking = ask().finally(() => open.delete(asking))
      open.add(asking)
    }
  }, TICK_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(open)
      await pool.close()
      return { sent, failures, bodies }
    },
  }
}

const CONNECTIONS = 16
const TICK_MS = 5
const TIMEOUT_MS = 30_000

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, serve } from '../../../shared/http/serve.ts'
import { silentLogger } from '../silent-logger.ts'

/** A server that one owner can flood. The owner of a request is its target. */
export interface FloodedServer {
  /** Sends a request. @throws Error unless its status is 204 */
  ask(owner: string): Promise<void>
  /**
   * Sends requests of `loud` continuously on `LOUD_CONNECTIONS` connections. Once each owner of `first` has an answer, `calm` sends `ASKS`
   * requests in sequence. Returns how many requests of `loud` got an answer in the meantime.
   */
  flood(first: readonly string[]): Promise<number>
  close(): Promise<void>
}

/** Starts a server that answers by `handler`. Requests send `body`, if given. */
export async function openFloodedServer(handler: HttpHandler, body?: string): Promise<FloodedServer> {
  const server = createServer(SERVER_OPTIONS)
  const serving = serve(server, { handler, logger: silentLogger, now: Date.now })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = new Agent({ connections: LOUD_CONNECTIONS + 1, pipelining: 1 })
  const sent = body === undefined ? {} : { method: 'POST', body }
  const ask = async (owner: string): Promise<void> => {
    const { statusCode } = await request(`${origin}/${owner}`, { ...sent, dispatcher })
    if (statusCode !== 204) throw new Error(`${owner}: ${statusCode}`)
  }
  return {
    ask,
    flood: async (first) => {
      let isOver = false
      let loud = 0
      const flood = Array.from({ length: LOUD_CONNECTIONS }, async () => {
        while (!isOver) await ask('loud').then(() => loud++)
      })
      for (const owner of first) await ask(owner)
      const before = loud
      for (let i = 0; i < ASKS; i++) await ask('calm')
      const meanwhile = loud - before
      isOver = true
      await Promise.all(flood)
      return meanwhile
    },
    close: async () => {
      await dispatcher.close()
      await serving.drain(AbortSignal.abort())
    },
  }
}

/** Number of connections of `loud`. */
export const LOUD_CONNECTIONS = 24
/** Number of requests of `calm` during a flood. */
export const ASKS = 10

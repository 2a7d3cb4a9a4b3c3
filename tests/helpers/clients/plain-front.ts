import { createServer, request as forward, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A front that cannot stream. */
export interface PlainFront {
  readonly url: string
  /** Paths of all upgrade requests. */
  readonly upgrades: readonly string[]
  /** Number of body bytes forwarded so far, in both directions. */
  passedBytes(): number
  close(): void
}

/** Opens a front that forwards every request as plain HTTP, even an upgrade. Like API Gateway, it accepts bodies up to `BODY_MAX` bytes. */
export async function openPlainFront(origin: string): Promise<PlainFront> {
  const upgrades: string[] = []
  let passedBytes = 0
  const count = (piece: Buffer): void => void (passedBytes += piece.length)
  const server = createServer((incoming, answer) => {
    const { upgrade, connection: _, ...headers } = incoming.headers
    if (upgrade !== undefined) upgrades.push(incoming.url ?? '')
    const passed = forward(`${origin}${incoming.url}`, { method: incoming.method ?? 'GET', headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.on('data', count).pipe(answer)
    })
    passed.on('error', () => answer.headersSent || answer.destroy())
    readUpTo(incoming, BODY_MAX).then(
      (body) => {
        passedBytes += body?.length ?? 0
        if (body !== null) return passed.end(body)
        passed.destroy()
        answer.writeHead(413, { 'content-type': 'application/json' }).end('{"message":"Request Entity Too Large"}')
      },
      () => passed.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    upgrades,
    passedBytes: () => passedBytes,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Reads a body. Returns null if it exceeds `maxBytes`, so that the caller forwards no part of it. */
async function readUpTo(incoming: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes <= maxBytes) pieces.push(piece)
  }
  return bytes > maxBytes ? null : Buffer.concat(pieces)
}

const BODY_MAX = 1024 * 1024

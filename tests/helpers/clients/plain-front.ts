import { createServer, request as forward, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A front that cannot stream. */
export interface PlainFront {
  readonly url: string
  /** Paths of the requests for an upgrade that came. */
  readonly upgrades: readonly string[]
  /** Bytes of bodies that passed so far, both ways. */
  passedBytes(): number
  close(): void
}

/** Opens a front that passes every request on as plain HTTP, upgrades too, and bodies up to `BODY_MAX` bytes, as API Gateway does. */
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

/** Reads a body; null for one of more bytes, of which nothing is passed on. */
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

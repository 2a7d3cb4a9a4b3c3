import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { SERVER_OPTIONS } from '../../shared/http/serve.ts'

/** Where to listen, and with what; the files are PEM. A `ca` is asked of clients. */
export interface Listening {
  host: string
  port: number
  tls: { ca?: string; cert: string; key: string } | null
}

/** A server that listens, and answers nothing yet. Rejects if it cannot. */
export async function openServer({ host, port, tls }: Listening): Promise<Server> {
  const server = tls ? createTlsServer({ ...SERVER_OPTIONS, ...readTls(tls) }) : createServer(SERVER_OPTIONS)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return server
}

/** How the server is reached from its own host. */
export function originOf(server: Server, { host, tls }: Listening): string {
  const { port } = server.address() as AddressInfo
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function readTls({ ca, cert, key }: NonNullable<Listening['tls']>) {
  const own = { cert: readFileSync(cert), key: readFileSync(key) }
  return ca === undefined ? own : { ...own, ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true }
}

import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createSecureContext, Server as TlsServer } from 'node:tls'
import { listenAt } from '../../shared/http/listen.ts'
import { SERVER_OPTIONS } from '../../shared/http/serve.ts'

/** Address and TLS files (PEM) of a server. With `ca`, clients must show a certificate of that CA. */
export interface Listening {
  host: string
  port: number
  tls: { ca?: string; cert: string; key: string } | null
}

/** Creates a server that listens and has no request listener yet. Rejects if it cannot listen. */
export async function openServer({ host, port, tls }: Listening, options = SERVER_OPTIONS): Promise<Server> {
  const server = tls
    ? createTlsServer({ ...options, handshakeTimeout: HANDSHAKE_MS, ...readTls(tls) })
    : createServer(options)
  await listenAt(server, { host, port })
  return server
}

/** Returns the origin by which this host reaches the server. */
export function originOf(server: Server, { host, tls }: Listening): string {
  const { port } = server.address() as AddressInfo
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Makes all servers load the current certificates from their files, or none of them. @throws Error that names the file */
export function reloadTls(all: readonly { server: Server; tls: Listening['tls'] }[]): void {
  const changes: (() => void)[] = []
  for (const { server, tls } of all) {
    if (tls === null || !(server instanceof TlsServer)) continue
    try {
      const read = readTls(tls)
      createSecureContext(read)
      changes.push(() => server.setSecureContext(read))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      throw new Error(`The certificate ${tls.cert} with the key ${tls.key} is not usable: ${cause}`, { cause: error })
    }
  }
  for (const change of changes) change()
}

function readTls({ ca, cert, key }: NonNullable<Listening['tls']>) {
  const own = { cert: readFileSync(cert), key: readFileSync(key) }
  return ca === undefined ? own : { ...own, ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true }
}

/** Time for a TLS handshake. */
const HANDSHAKE_MS = 10_000

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import type { KubeAccess } from '../../../agent/lib/kube/credentials.ts'
import { writeKubeconfig } from '../../helpers/pods/faulty-kube.ts'

/** A proxy to the API server that records requests. */
export interface CountingProxy {
  /** Kubeconfig of the proxy. Requests have the rights of the credentials that opened the proxy. */
  kubeconfig: string
  /** Returns `METHOD path` of each request so far, and `WATCH path` of a watch. */
  requests(): readonly string[]
  close(): Promise<void>
}

/** Opens a proxy on a loopback port. */
export async function openCountingProxy(access: KubeAccess): Promise<CountingProxy> {
  const requests: string[] = []
  const server = createServer((message, response) => {
    requests.push(describe(message))
    pass(access, message, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-bench-way-'))
  const kubeconfig = join(directory, 'kubeconfig')
  writeKubeconfig(kubeconfig, (server.address() as AddressInfo).port, { token: 'none' })
  return {
    kubeconfig,
    requests: () => requests,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      rmSync(directory, { recursive: true })
    },
  }
}

async function pass(access: KubeAccess, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const type = message.headers['content-type']
  const answer = await request(`${access.server}${message.url ?? ''}`, {
    method: message.method as 'GET',
    dispatcher: access.dispatcher,
    headers: { ...access.headers, ...(type === undefined ? {} : { 'content-type': type }) },
    body: message.method === 'GET' ? null : await readAll(message),
    signal: gone.signal,
    bodyTimeout: 0,
  })
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  // The agent treats a watch as open once it has the headers.
  response.flushHeaders()
  await pipeline(answer.body, response)
}

function describe({ method, url = '' }: IncomingMessage): string {
  const { pathname, searchParams } = new URL(url, 'http://server')
  return `${searchParams.get('watch') === 'true' ? 'WATCH' : method} ${pathname}`
}

async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

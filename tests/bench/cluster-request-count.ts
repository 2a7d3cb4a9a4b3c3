import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import type { KubeAccess } from '../../agent/lib/kube/credentials.ts'
import { writeKubeconfig } from '../helpers/pods/faulty-kube.ts'

/** A way to the API server that counts what is asked of it. */
export interface CountedWay {
  /** Leads over this way; the rights are those of who opened it. */
  kubeconfig: string
  /** `METHOD path` of each request so far, a watch as `WATCH path`. */
  asked(): readonly string[]
  close(): Promise<void>
}

/** Opens one, on a port of loopback. */
export async function openCountedWay(access: KubeAccess): Promise<CountedWay> {
  const asked: string[] = []
  const server = createServer((message, response) => {
    asked.push(describe(message))
    pass(access, message, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-bench-way-'))
  const kubeconfig = join(directory, 'kubeconfig')
  writeKubeconfig(kubeconfig, (server.address() as AddressInfo).port, { token: 'none' })
  return {
    kubeconfig,
    asked: () => asked,
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
  // A watch is open as soon as the agent has its headers.
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

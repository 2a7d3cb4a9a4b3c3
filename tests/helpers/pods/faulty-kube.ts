import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KubeApi, openKubeApi } from '../../../agent/lib/kube/api.ts'
import { silentLogger } from '../silent-logger.ts'

/** A request to the API server. */
export interface KubeRequest {
  method: string
  path: string
  query: URLSearchParams
  body: any
  token: string
  accept: string
}

type Answer = (request: KubeRequest, response: ServerResponse) => void

/** A fake API server with scripted answers, for faults that a real server does not produce on demand. */
export interface FaultyKube {
  api: KubeApi
  kubeconfig: string
  requests: KubeRequest[]
  port(): number
  /** Sets the answer to later requests. */
  answer(answer: Answer): void
  /** Stops listening and closes all connections. `listen` reopens the same port. */
  cut(): Promise<void>
  listen(): Promise<void>
  close(): Promise<void>
}

/** Starts a server, and opens an API client for it with the token `secret-token`. */
export async function startFaultyKube(): Promise<FaultyKube> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-kube-'))
  const kubeconfig = join(directory, 'kubeconfig')
  const requests: KubeRequest[] = []
  let current: Answer = (_request, response) => sendStatus(response, 404, 'NotFound')
  const server = createServer((message, response) => {
    void readRequest(message).then((request) => {
      requests.push(request)
      current(request, response)
    })
  })
  let port = 0
  const listen = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  await listen()
  writeKubeconfig(kubeconfig, port, { token: 'secret-token' })
  const watchWaitMs = { min: 20, max: 80 }
  const api = await openKubeApi({ kubeconfig, namespace: 'boxes', logger: silentLogger, now: Date.now, watchWaitMs })
  return {
    api,
    kubeconfig,
    requests,
    port: () => port,
    answer: (answer) => {
      current = answer
    },
    cut,
    listen,
    close: async () => {
      api.close()
      if (server.listening) await cut()
      rmSync(directory, { recursive: true })
    },
  }
}

/** Replaces a kubeconfig atomically, as a rotation does. */
export function writeKubeconfig(path: string, port: number | string, user: object): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  writeFileSync(`${path}.new`, JSON.stringify(config))
  renameSync(`${path}.new`, path)
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Answers with a Kubernetes Status that reports a failure. */
export function sendStatus(response: ServerResponse, code: number, reason: string, message = reason): void {
  sendJson(response, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }, code)
}

async function readRequest(message: IncomingMessage): Promise<KubeRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const { pathname, searchParams } = new URL(message.url ?? '', 'http://server')
  const token = message.headers.authorization?.replace('Bearer ', '') ?? ''
  const body: unknown = text === '' ? null : JSON.parse(text)
  const { accept = '' } = message.headers
  return { method: message.method ?? '', path: pathname, query: searchParams, body, token, accept }
}

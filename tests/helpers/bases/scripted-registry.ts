import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ImageLayout, LayoutDescriptor } from './image-archive.ts'

/** Answers a request, or returns false to let the registry answer. */
export type Script = (path: string, request: IncomingMessage, response: ServerResponse) => boolean

/** A registry with one image in the repository `it`, and scripted answers. */
export interface ScriptedRegistry {
  host: string
  url: string
  /** Path of each request, in order. */
  asked: readonly string[]
  /** Returns the number of connections so far. */
  connections(): number
  close(): Promise<void>
}

/** The image that every tag points to. With `tls`, the registry serves HTTPS. */
export interface ScriptedImage {
  image: ImageLayout
  top: LayoutDescriptor
  tls?: { key: string; cert: string }
}

/** Starts a registry on loopback. */
export async function startScriptedRegistry(
  { image, top, tls }: ScriptedImage,
  script: Script = () => false,
): Promise<ScriptedRegistry> {
  const asked: string[] = []
  let connections = 0
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = request.url ?? ''
    asked.push(path)
    response.on('error', () => undefined)
    if (script(path, request, response)) return
    const name = /^\/v2\/it\/(?:manifests|blobs)\/([^/?]+)$/.exec(path)?.[1] ?? ''
    const bytes = image.parts.get(name.includes(':') ? name : top.digest)
    if (bytes === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
  }
  const server = tls ? createSecureServer(tls, answer) : createServer(answer)
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${tls ? 'https' : 'http'}://${host}`
  return { host, url, asked, connections: () => connections, close: () => closeServer(server) }
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

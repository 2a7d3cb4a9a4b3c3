import type { ServerChannel } from 'ssh2'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import type { PortStream } from '../../sdk/typescript/src/port-stream.ts'
import { type ClientChannel, createClientChannel } from './channels.ts'

/** A connection that a client requests, as `ssh -L` does for each of its own. */
export interface ForwardRequest {
  host: string
  port: number
  accept(): ServerChannel
  reject(): void
}

export interface ForwardDeps {
  box: BoxHandle
  /** The host name by which the client reached the box. */
  hostName: string
  gone: AbortSignal
  tell(message: string): void
}

/** Connects a client to a port of the box, and to no other destination. */
export async function serveForward(request: ForwardRequest, { box, hostName, gone, tell }: ForwardDeps): Promise<void> {
  const { host, port } = request
  const here = [...LOCAL_HOSTS, box.name, `${box.name}.${box.project}`, hostName.toLowerCase()]
  if (!here.includes(host.toLowerCase())) {
    tell(`${host}:${port} is not the box. Forwarding reaches only ports of the box, as localhost.`)
    return request.reject()
  }
  let stream: PortStream
  try {
    stream = await box.connect(port)
  } catch (error) {
    tell(`port ${port}: ${error instanceof Error ? error.message : String(error)}`)
    return request.reject()
  }
  // Undefined if the client has gone.
  const accepted = request.accept() as ServerChannel | undefined
  if (gone.aborted || accepted === undefined) return stream.close()
  const left = new AbortController()
  const isOver = AbortSignal.any([gone, left.signal])
  accepted.once('close', () => left.abort())
  await join(createClientChannel(accepted, isOver), stream, isOver)
}

/** Forwards bytes both ways until both directions have ended. A break of one direction ends the other. */
async function join(channel: ClientChannel, { readable, writable }: PortStream, gone: AbortSignal): Promise<void> {
  const writer = writable.getWriter()
  const reader = readable.getReader()
  const leave = (): void => {
    void writer.abort().catch(() => undefined)
    void reader.cancel().catch(() => undefined)
  }
  const up = async (): Promise<void> => {
    for await (const bytes of channel.input) await writer.write(bytes)
    if (!gone.aborted) await writer.close()
  }
  const down = async (): Promise<void> => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      await channel.send('stdout', piece.value)
    channel.endOutput()
  }
  gone.addEventListener('abort', leave, { once: true })
  try {
    await Promise.all([up(), down()])
  } catch {
    leave()
  } finally {
    gone.removeEventListener('abort', leave)
    channel.close()
  }
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '::1']

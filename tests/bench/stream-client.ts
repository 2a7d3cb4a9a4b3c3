import { WebSocket } from 'ws'
import { exitCodeIn } from '../../shared/http/exec-frames.ts'

/** One command over a WebSocket, as a program that is not a terminal has it. */
export interface StreamClient {
  /** Resolves with the exit code once the status has come, and the server has closed. */
  readonly ended: Promise<number>
  send(bytes: Uint8Array): void
  /** Bytes of stdout so far. */
  received(): number
  /** Calls `listener` at each piece of stdout. */
  onOutput(listener: (bytes: Buffer) => void): void
  /** Reads nothing until `resume`. */
  pause(): void
  resume(): void
  leave(): void
}

/** Starts what `url` says, with a token. */
export async function openStream(url: string, token: string): Promise<StreamClient> {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url.replace(/^http/, 'ws'), ['v5.channel.k8s.io'], {
    headers,
    perMessageDeflate: false,
    maxPayload: 2 * 1024 ** 2,
  })
  let bytes = 0
  let listener: (piece: Buffer) => void = () => undefined
  const end = Promise.withResolvers<number>()
  end.promise.catch(() => undefined)
  let exitCode: number | null = null
  socket.on('message', (data: Buffer) => {
    if (data[0] === STATUS) exitCode = exitCodeIn(data.subarray(1).toString('utf8')) ?? Number.NaN
    if (data[0] !== STDOUT) return
    bytes += data.length - 1
    listener(data.subarray(1))
  })
  socket.once('close', (code) => {
    if (exitCode === null) end.reject(new Error(`closed with ${code} before a status`))
    else end.resolve(exitCode)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.on('error', reject)
  })
  return {
    ended: end.promise,
    send: (piece) => socket.send(Buffer.concat([Buffer.from([STDIN]), piece])),
    received: () => bytes,
    onOutput: (one) => {
      listener = one
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    leave: () => socket.terminate(),
  }
}

/** The query of a streamed command. */
export function streamQuery(command: readonly string[], more: Record<string, string> = {}): string {
  const query = new URLSearchParams(more)
  for (const word of command) query.append('command', word)
  return query.toString()
}

const STDIN = 0
const STDOUT = 1
const STATUS = 3

import { WebSocket } from 'ws'
import { exitCodeIn } from '../../shared/http/exec-frames.ts'

/** One command over a WebSocket, without a terminal. */
export interface BenchStream {
  /** Resolves with the exit code when the server has sent the status and closed. */
  readonly ended: Promise<number>
  send(bytes: Uint8Array): void
  /** Returns the bytes of stdout received so far. */
  received(): number
  /** Calls `listener` with each piece of stdout. */
  onOutput(listener: (bytes: Buffer) => void): void
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
  leave(): void
}

/** Opens the WebSocket at `url`, which starts its command. */
export async function openBenchStream(url: string, token: string): Promise<BenchStream> {
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

/** Builds the query of a streamed command. */
export function streamQuery(command: readonly string[], more: Record<string, string> = {}): string {
  const query = new URLSearchParams(more)
  for (const word of command) query.append('command', word)
  return query.toString()
}

const STDIN = 0
const STDOUT = 1
const STATUS = 3

import xterm from '@xterm/headless'
import { WebSocket } from 'ws'

/** A minimal terminal client over a WebSocket, with a screen to read and to type into. */
export interface TestTerminal {
  /** `X-Exec-Id` or `X-Session-Id` of the response. */
  readonly id: string
  /** Returns the lines on the screen, without trailing spaces. */
  screen(): string[]
  type(text: string): void
  resize(size: { cols: number; rows: number }): void
  /** Waits until the screen matches. Throws its content after 15 s. */
  until(pattern: RegExp): Promise<void>
  /** Resolves with the received Kubernetes Status and the close code. */
  readonly ended: Promise<{ status: Status; code: number }>
  /** Terminates the connection. */
  leave(): void
}

type Status = { status: string; details?: unknown } | null

export interface TerminalOptions {
  /** Sent as a bearer token. Null sends none. */
  token: string | null
  cols?: number
  rows?: number
}

/** Opens a terminal at `url`. Its query must state the same size. */
export async function connectTerminal(url: string, options: TerminalOptions): Promise<TestTerminal> {
  const { token, cols = 80, rows = 24 } = options
  const view = new xterm.Terminal({ cols, rows, allowProposedApi: true })
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url.replace(/^http/, 'ws'), ['v5.channel.k8s.io'], { headers })
  let status: Status = null
  let id = ''
  socket.on('upgrade', ({ headers: answered }) => {
    id = String(answered['x-exec-id'] ?? answered['x-session-id'] ?? '')
  })
  socket.on('message', (data: Buffer) => {
    if (data[0] === STDOUT) view.write(data.subarray(1))
    if (data[0] === STATUS) status = JSON.parse(data.subarray(1).toString('utf8')) as Status
  })
  const ended = new Promise<{ status: Status; code: number }>((resolve) => {
    socket.once('close', (code) => resolve({ status, code }))
  })
  // Leaves terminal queries unanswered, such as a shell's query for the cursor position.
  // An answer after the next line was typed would become input of that line's command, as for a person who types ahead.
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    // After the open, `close` reports errors.
    socket.on('error', reject)
  })
  const send = (channel: number, text: string): void =>
    socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]))
  const screen = (): string[] => {
    const { active } = view.buffer
    return Array.from(
      { length: view.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '',
    )
  }
  return {
    id,
    screen,
    type: (text) => send(STDIN, text),
    resize: (size) => {
      view.resize(size.cols, size.rows)
      send(RESIZE, JSON.stringify({ Width: size.cols, Height: size.rows }))
    },
    until: async (pattern) => {
      const deadline = performance.now() + PATIENCE_MS
      while (!pattern.test(screen().join('\n'))) {
        if (performance.now() > deadline) throw new Error(`The screen never shows ${pattern}:\n${screen().join('\n')}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    ended,
    leave: () => socket.terminate(),
  }
}

const STDIN = 0
const STDOUT = 1
const STATUS = 3
const RESIZE = 4
const PATIENCE_MS = 60_000

import { ApiError, type TerminalStream } from '@boxyard/sdk'
import type { Terminal } from '@xterm/xterm'
import { api } from '../api/client.ts'
import type { Ref } from '../api/records.ts'

/** How a terminal stands to its session. */
export type AttachmentState =
  | { kind: 'connecting' }
  | { kind: 'open' }
  | { kind: 'lost'; reason: string }
  | { kind: 'ended'; reason: string }

/** A terminal that is attached to a session of a box. */
export interface Attachment {
  close(): void
}

export interface AttachOptions {
  box: Ref
  session: string
  onState(state: AttachmentState): void
}

/**
 * Attaches a terminal to a session until it is closed or the shell ends. A lost connection is made again, with pauses that double: the
 * session goes on meanwhile, over restarts of the service too, and tells what was on its screen.
 */
export function attach(terminal: Terminal, { box, session, onState }: AttachOptions): Attachment {
  let isClosed = false
  let stream: TerminalStream | null = null
  let wake = (): void => undefined
  const encoder = new TextEncoder()
  const input = terminal.onData((text) => send(stream, encoder.encode(text)))
  const binary = terminal.onBinary((text) =>
    send(
      stream,
      Uint8Array.from(text, (char) => char.charCodeAt(0)),
    ),
  )
  const size = terminal.onResize(({ cols, rows }) => void stream?.resize(cols, rows).catch(() => undefined))
  const run = async (): Promise<void> => {
    for (let pauseMs = PAUSE_MS; !isClosed; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
      try {
        onState({ kind: 'connecting' })
        stream = await api().box(box.project, box.name).console({ session, cols: terminal.cols, rows: terminal.rows })
        if (isClosed) return stream.close()
        pauseMs = PAUSE_MS
        terminal.reset()
        onState({ kind: 'open' })
        for await (const { bytes } of stream) await write(terminal, bytes)
        const { exitCode, message } = await stream.ended()
        return onState({ kind: 'ended', reason: message ?? `The shell has ended with code ${exitCode}.` })
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        if (error instanceof ApiError && !error.retryable && error.status < 500)
          return onState({ kind: 'ended', reason })
        if (!isClosed) onState({ kind: 'lost', reason })
      } finally {
        stream = null
      }
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, pauseMs)
      })
    }
  }
  void run()
  return {
    close: () => {
      isClosed = true
      wake()
      stream?.close()
      for (const each of [input, binary, size]) each.dispose()
    },
  }
}

function send(stream: TerminalStream | null, bytes: Uint8Array): void {
  void stream?.write(bytes).catch(() => undefined)
}

/** Writes output once the terminal has taken it, so that what is not shown yet waits at the service. */
function write(terminal: Terminal, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => terminal.write(bytes, resolve))
}

const PAUSE_MS = 250
const PAUSE_MAX_MS = 8_000

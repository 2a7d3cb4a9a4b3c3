import { OverflowError, type TerminalStream } from '@boxyard/sdk'
import type { Terminal } from '@xterm/xterm'
import { api } from '../api/client.ts'
import { createPauses, isForGood } from '../api/patience.ts'
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
 * session goes on meanwhile, over restarts of the service too, and tells what was on its screen. So is one of which more came than the
 * terminal could show, in browsers that do not hold a connection: what was left out is older than what the session tells then.
 */
export function attach(terminal: Terminal, { box, session, onState }: AttachOptions): Attachment {
  const closing = new AbortController()
  let stream: TerminalStream | null = null
  // What the terminal answers to queries that are replayed was asked for long ago: nobody waits for it.
  let isReplaying = true
  const encoder = new TextEncoder()
  // What is typed into a flood, such as Ctrl-C, is not lost while the page attaches anew.
  const held: Uint8Array[] = []
  let hasOverflowed = false
  const send = (bytes: Uint8Array): void => {
    if (stream !== null) void stream.write(bytes).catch(() => held.push(bytes))
    else if (hasOverflowed) held.push(bytes)
  }
  const input = terminal.onData((text) => {
    if (!isReplaying || !text.startsWith(ESCAPE)) send(encoder.encode(text))
  })
  const binary = terminal.onBinary((text) => {
    if (!isReplaying) send(Uint8Array.from(text, (char) => char.charCodeAt(0)))
  })
  const size = terminal.onResize(({ cols, rows }) => void stream?.resize(cols, rows).catch(() => undefined))
  const run = async (): Promise<void> => {
    for (const pauses = createPauses({ longestMs: PAUSE_MAX_MS }); !closing.signal.aborted; ) {
      try {
        onState({ kind: 'connecting' })
        stream = await api().box(box.project, box.name).console({ session, cols: terminal.cols, rows: terminal.rows })
        if (closing.signal.aborted) return stream.close()
        pauses.restart()
        terminal.reset()
        isReplaying = true
        const typed = held.splice(0)
        if (hasOverflowed) for (const bytes of typed) send(bytes)
        hasOverflowed = false
        await show(terminal, stream, () => {
          isReplaying = false
          void stream?.resize(terminal.cols, terminal.rows).catch(() => undefined)
          onState({ kind: 'open' })
        })
        const { exitCode, message } = await stream.ended()
        return onState({ kind: 'ended', reason: message ?? `The shell has ended with code ${exitCode}.` })
      } catch (error) {
        hasOverflowed ||= error instanceof OverflowError
        const reason = error instanceof Error ? error.message : String(error)
        if (isForGood(error)) return onState({ kind: 'ended', reason })
        if (!closing.signal.aborted) onState({ kind: 'lost', reason })
      } finally {
        stream = null
      }
      await pauses.wait(closing.signal)
    }
  }
  void run()
  return {
    close: () => {
      closing.abort()
      stream?.close()
      for (const each of [input, binary, size]) each.dispose()
    },
  }
}

/** Shows output until it ends; calls `onReplayed` once what was on the screen before has come: at the first silence, or after so many bytes. */
async function show(terminal: Terminal, stream: TerminalStream, onReplayed: () => void): Promise<void> {
  const output = stream[Symbol.asyncIterator]()
  let isReplayed = false
  for (let bytes = 0; ; ) {
    const next = output.next()
    if (!isReplayed && (bytes > REPLAY_BYTES || (await isQuiet(next)))) {
      isReplayed = true
      onReplayed()
    }
    const step = await next
    if (step.done === true) return
    await write(terminal, step.value.bytes)
    bytes += step.value.bytes.length
  }
}

/** Returns true if nothing comes for a moment. */
function isQuiet(next: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), QUIET_MS)
    const end = (): void => {
      clearTimeout(timer)
      resolve(false)
    }
    next.then(end, end)
  })
}

/**
 * Writes output once the terminal has taken it, so that what is not shown yet waits at the service; in pieces, since the page does nothing
 * else while one is taken.
 */
async function write(terminal: Terminal, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; from += WRITTEN_BYTES)
    await new Promise<void>((resolve) => terminal.write(bytes.subarray(from, from + WRITTEN_BYTES), resolve))
}

/** What a terminal answers to queries begins with it. */
const ESCAPE = '\u001b'
const PAUSE_MAX_MS = 8_000
/** A console begins with the last 256 KiB of what was on it. */
const REPLAY_BYTES = 256 * 1024
const QUIET_MS = 60
/** What a terminal takes in a fraction of a frame. */
const WRITTEN_BYTES = 16 * 1024

import { ConnectionError, OverflowError, type TerminalStream } from '@boxyard/sdk'
import type { IDisposable, Terminal } from '@xterm/xterm'
import { api } from '../api/client.ts'
import { errorWords } from '../api/error-words.ts'
import { createPauses, isForGood, pauseFor } from '../api/patience.ts'
import type { Ref } from '../api/records.ts'
import { Flood } from './flood.ts'
import { HeldInput, type Unsent } from './held-input.ts'
import { PingRecord, watchPeer } from './peer-watch.ts'
import { Screen } from './screen.ts'

/** State of the connection between a terminal and its session. */
export type AttachmentState =
  | { kind: 'connecting' }
  | { kind: 'open' }
  | { kind: 'lost'; reason: string }
  /** `isRefused`: not by its shell. */
  | { kind: 'ended'; reason: string; isRefused: boolean }

export interface AttachOptions {
  box: Ref
  session: string
  /** The directory for a new session, if none of the name exists. */
  cwd?: string | undefined
  /** Transforms a typed text, for example with the on-screen Ctrl key. */
  typed(text: string): string
  onState(state: AttachmentState): void
  /** Reports input that did not reach the session, or null if there is none. */
  onUnsent(unsent: Unsent | null): void
}

/**
 * Attaches a terminal to a session until `close`, or until the shell ends. Reconnects after a lost connection, with pauses that double. The
 * session keeps running, even over restarts of the service, and resends its screen. Also reconnects to skip output that the page has not
 * shown yet, after an overflow, and when the user interrupts a flood.
 */
export class Attachment {
  readonly #terminal: Terminal
  readonly #options: AttachOptions
  readonly #closing = new AbortController()
  readonly #screen: Screen
  readonly #held: HeldInput
  readonly #pings = new PingRecord()
  readonly #listeners: IDisposable[]
  #flood = new Flood()
  #connection: Connection | null = null
  /** Answers to queries in replayed output would reach programs that no longer wait for them. */
  #isReplaying = true

  constructor(terminal: Terminal, options: AttachOptions) {
    this.#terminal = terminal
    this.#options = options
    this.#screen = new Screen(terminal)
    this.#held = new HeldInput(options.onUnsent)
    const encoder = new TextEncoder()
    this.#listeners = [
      terminal.onData((text) => {
        const isReport = REPORT.test(text)
        const sent = isReport ? text : options.typed(text)
        if (!isReport || !this.#isReplaying) this.#send(encoder.encode(sent), !isReport)
        if (INTERRUPTS.has(sent) && this.#flood.isOn()) void this.#skip()
      }),
      terminal.onBinary((text) => {
        if (!this.#isReplaying)
          this.#send(
            Uint8Array.from(text, (char) => char.charCodeAt(0)),
            false,
          )
      }),
      terminal.onResize(({ cols, rows }) => void this.#connection?.stream.resize(cols, rows).catch(() => undefined)),
    ]
    void this.#run()
  }

  close(): void {
    this.#closing.abort()
    this.#connection?.stream.close()
    for (const each of this.#listeners) each.dispose()
  }

  /** Sends the input that was typed while the connection was lost. */
  sendHeld(): void {
    for (const bytes of this.#held.take()) this.#send(bytes, true)
  }

  /** Forgets that input. */
  dropHeld(): void {
    this.#held.drop()
  }

  #send(bytes: Uint8Array, isTyped: boolean): void {
    const connection = this.#connection
    if (connection === null) {
      if (isTyped) this.#held.add(bytes)
      return
    }
    if (isTyped) this.#held.note()
    connection.written = connection.stream.write(bytes).catch(() => {
      if (isTyped) this.#held.add(bytes)
    })
  }

  /** Skips the output between the box and the page, and attaches to its end. */
  async #skip(): Promise<void> {
    const connection = this.#connection
    if (connection === null) return
    this.#flood = new Flood()
    await connection.written
    if (this.#connection === connection) connection.cut(new SkippedError())
  }

  async #run(): Promise<void> {
    const { onState } = this.#options
    const { signal } = this.#closing
    for (const pauses = createPauses({ longestMs: PAUSE_MAX_MS }); !signal.aborted; ) {
      let isSkipped = false
      try {
        if (!this.#held.isBrief) onState({ kind: 'connecting' })
        const stream = await this.#connect()
        if (signal.aborted) return stream.close()
        pauses.restart()
        return onState(await this.#follow(stream))
      } catch (error) {
        isSkipped = error instanceof SkippedError
        if (isSkipped || error instanceof OverflowError) this.#held.beginBrief()
        else if (signal.aborted) return
        else {
          const reason = errorWords(error)
          if (isForGood(error)) return onState({ kind: 'ended', reason, isRefused: true })
          this.#held.endBrief()
          onState({ kind: 'lost', reason })
        }
      }
      if (!isSkipped) await pauses.wait(signal)
    }
  }

  /** Opens a stream of the session. @throws ApiError, ConnectionError also if nothing answers for some seconds */
  async #connect(): Promise<TerminalStream> {
    const { box, session, cwd } = this.#options
    const { cols, rows } = this.#terminal
    const giveUp = new AbortController()
    const { signal } = giveUp
    const opening = api().box(box.project, box.name).console({ session, cwd, cols, rows, signal })
    const late = pauseFor(CONNECT_MS, this.#closing.signal).then(() => null)
    const stream = await Promise.race([opening, late])
    if (stream !== null) return stream
    // The browser would send the next request over the same dead connection.
    giveUp.abort()
    void opening.then(
      (each) => each.close(),
      () => undefined,
    )
    throw new ConnectionError(`The service has not answered for ${CONNECT_MS / 1000} s.`)
  }

  /** Shows the output of a stream to its end, and returns how the session ended. @throws SkippedError, OverflowError, ConnectionError */
  async #follow(stream: TerminalStream): Promise<AttachmentState> {
    const { promise: isCut, reject: cut } = Promise.withResolvers<never>()
    isCut.catch(() => undefined)
    const connection: Connection = { stream, cut, written: Promise.resolve() }
    const watch = watchPeer(stream, {
      record: this.#pings,
      onHeard: () => this.#held.heard(),
      onSilent: cut,
      signal: this.#closing.signal,
    })
    try {
      await this.#screen.clear()
      this.#isReplaying = true
      this.#connection = connection
      if (this.#held.isBrief) this.sendHeld()
      const output = stream[Symbol.asyncIterator]()
      for (let [bytes, isReplayed] = [0, false]; ; ) {
        const next = output.next()
        next.catch(() => undefined)
        watch.beginWait()
        if (!isReplayed && (bytes > REPLAY_BYTES || (await isQuiet(next)))) {
          isReplayed = true
          this.#onReplayed(stream)
        }
        const step = await Promise.race([next, isCut])
        watch.endWait()
        if (step.done === true) break
        this.#held.heard()
        this.#flood.take(step.value.bytes.length)
        await Promise.race([this.#screen.write(step.value.bytes), isCut])
        bytes += step.value.bytes.length
      }
      const { exitCode, message } = await stream.ended()
      const words = exitCode === null ? (message ?? 'The shell has ended.') : `Shell exited (${exitCode})`
      return { kind: 'ended', reason: words, isRefused: false }
    } finally {
      watch.end()
      this.#connection = null
      stream.close()
    }
  }

  #onReplayed(stream: TerminalStream): void {
    this.#isReplaying = false
    this.#held.endBrief()
    void stream.resize(this.#terminal.cols, this.#terminal.rows).catch(() => undefined)
    this.#options.onState({ kind: 'open' })
  }
}

interface Connection {
  stream: TerminalStream
  /** Disconnects for a reason. */
  cut(reason: Error): void
  /** Settles once the last input is on its way. */
  written: Promise<void>
}

/** The page skipped output that it had not shown. */
class SkippedError extends Error {
  override readonly name = 'SkippedError'
}

/** Returns true if nothing arrives for a moment. */
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

/** A report of the mouse or the focus, or an answer to a query: not typed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of terminals begin with it.
const REPORT = /^\u001b(?:[P\]].|\[(?:[IOM<?>]|[\d;]*[Rnt]))/
/** Ctrl-C, Ctrl-Z and Ctrl-\, which stop the writing program. */
const INTERRUPTS = new Set(['\u0003', '\u001a', '\u001c'])
const PAUSE_MAX_MS = 8_000
const CONNECT_MS = 8_000
/** A console begins with the last 256 KiB of its output. */
const REPLAY_BYTES = 256 * 1024
const QUIET_MS = 60

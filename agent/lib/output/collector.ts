import { Readable } from 'node:stream'
import { createListeners } from '../../../shared/listeners.ts'

/** Reads the streams of a command into rings. */
export interface OutputCollector {
  /** Calls `listener` at new bytes, once for each piece; returns what stops it. */
  onOutput(listener: () => void): () => void
  /**
   * For after the command's exit, since what it left running may hold its streams open for ever: resolves when they have ended,
   * or brought nothing for 100 ms, or gone on for 2 s. Nothing that comes later is kept, and copies end.
   */
  settle(): Promise<void>
  /** Resolves once nobody holds the streams any more. */
  released: Promise<void>
  /** Lets go of the streams: whoever still writes to them gets SIGPIPE. */
  release(): void
}

export interface OutputParts<T> {
  stdout: T
  stderr: T
}

/** What keeps the output of a stream. */
export interface OutputSink {
  /** Of all that was taken. */
  readonly totalBytes: number
  readonly isSealed: boolean
  push(chunk: Buffer): void
  /** Takes nothing from now on. */
  seal(): void
}

/** Starts to read at once; a stream that breaks has ended. Once a ring is sealed its stream is read slowly, and dropped. */
export function collectOutput(
  streams: OutputParts<Readable>,
  rings: OutputParts<OutputSink>,
  copies: OutputParts<OutputCopy | null> = { stdout: null, stderr: null },
): OutputCollector {
  const { add: onOutput, notify } = createListeners()
  const names = ['stdout', 'stderr'] as const
  const drains = names.map((name) => drain(streams[name], { ring: rings[name], copy: copies[name], notify }))
  const released = Promise.all(drains).then(() => undefined)
  return {
    released,
    onOutput,
    settle: async () => {
      for (const name of names) copies[name]?.hurry()
      await untilQuiet(released, () => rings.stdout.totalBytes + rings.stderr.totalBytes)
      for (const name of names) {
        rings[name].seal()
        copies[name]?.finish()
      }
    },
    release: () => {
      streams.stdout.destroy()
      streams.stderr.destroy()
    },
  }
}

/** A second reader of a stream: while it is behind, the stream is not read; once it is destroyed, nobody waits for it. */
export interface OutputCopy {
  readonly stream: Readable
  /** Takes a piece; false: it is behind. */
  push(chunk: Buffer): boolean
  /** Called when it is no longer behind, or gone. */
  onReady: () => void
  /** The command has ended: what is left in its pipes is taken though it be behind, up to 256 KiB. */
  hurry(): void
  /** Nothing more comes. */
  finish(): void
}

/** A copy that holds up to 256 KiB that were not read. */
export function createOutputCopy(): OutputCopy {
  let hurriedBytes: number | null = null
  const stream = new Readable({
    highWaterMark: COPY_BYTES,
    read: () => copy.onReady(),
    destroy: (error, done) => {
      copy.onReady()
      done(error)
    },
  })
  // Whoever reads it may go at any time.
  stream.on('error', () => undefined)
  const copy: OutputCopy = {
    stream,
    onReady: () => undefined,
    push: (chunk) => {
      if (stream.destroyed || stream.readableEnded) return true
      const isReady = stream.push(chunk)
      if (isReady || hurriedBytes === null) return isReady
      hurriedBytes += chunk.length
      return hurriedBytes < COPY_BYTES
    },
    hurry: () => {
      hurriedBytes ??= 0
      copy.onReady()
    },
    finish: () => {
      if (!stream.destroyed) stream.push(null)
    },
  }
  return copy
}

interface DrainParts {
  ring: OutputSink
  copy: OutputCopy | null
  notify(): void
}

function drain(stream: Readable, { ring, copy, notify }: DrainParts): Promise<void> {
  if (copy !== null) copy.onReady = () => void stream.resume()
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      if (!ring.isSealed) {
        ring.push(chunk)
        if (copy !== null && !copy.push(chunk)) stream.pause()
        notify()
        return
      }
      // Nobody wants it any more, but whoever writes must not hang, nor keep us busy.
      stream.pause()
      setTimeout(() => stream.resume(), IDLE_READ_MS).unref()
    })
    stream.on('end', resolve)
    stream.on('close', resolve)
    stream.on('error', () => resolve())
  })
}

async function untilQuiet(ended: Promise<void>, totalBytes: () => number): Promise<void> {
  let isEnded = false
  const end = ended.then(() => {
    isEnded = true
  })
  for (let round = 0; round < QUIET_ROUNDS && !isEnded; round++) {
    const before = totalBytes()
    await endOrPause(end)
    // A busy event loop runs its timers first: what has arrived by now is read before it is judged.
    if (!isEnded) await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    if (totalBytes() === before) return
  }
}

function endOrPause(end: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, QUIET_MS)
    void end.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const QUIET_MS = 100
const QUIET_ROUNDS = 20
const IDLE_READ_MS = 50
const COPY_BYTES = 256 * 1024

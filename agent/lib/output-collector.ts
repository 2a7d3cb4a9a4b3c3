import type { Readable } from 'node:stream'
import type { OutputRing } from './output-ring.ts'

/** Reads the streams of a command into rings. */
export interface OutputCollector {
  /** Calls `listener` at new bytes, once for each piece; returns what stops it. */
  onOutput(listener: () => void): () => void
  /**
   * For after the command's exit, since what it left running may hold its streams open for ever: resolves when they have ended,
   * or brought nothing for 100 ms, or gone on for 2 s. Nothing that comes later is kept.
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

/** Starts to read at once; a stream that breaks has ended. Once a ring is sealed its stream is read slowly, and dropped. */
export function collectOutput(streams: OutputParts<Readable>, rings: OutputParts<OutputRing>): OutputCollector {
  const listeners = new Set<() => void>()
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  const drains = [drain(streams.stdout, rings.stdout, notify), drain(streams.stderr, rings.stderr, notify)]
  const released = Promise.all(drains).then(() => undefined)
  return {
    released,
    onOutput: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    settle: async () => {
      await untilQuiet(released, () => rings.stdout.totalBytes + rings.stderr.totalBytes)
      rings.stdout.seal()
      rings.stderr.seal()
    },
    release: () => {
      streams.stdout.destroy()
      streams.stderr.destroy()
    },
  }
}

function drain(stream: Readable, ring: OutputRing, notify: () => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      if (!ring.isSealed) {
        ring.push(chunk)
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

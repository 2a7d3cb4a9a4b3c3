import { Readable } from 'node:stream'
import { createListeners } from '../../../shared/listeners.ts'

/** Reads the streams of a command into rings. */
export interface OutputCollector {
  /** Calls `listener` at each chunk; returns a function that removes it. */
  onOutput(listener: () => void): () => void
  /**
   * Call after the command's exit, since processes it left running may keep its streams open for ever: resolves when they have
   * ended, have been quiet for 100 ms, or have gone on for 2 s. Drops later output, and ends the tees.
   */
  settle(): Promise<void>
  /** Resolves once the streams are closed. */
  released: Promise<void>
  /** Closes the streams: processes that still write to them get SIGPIPE. */
  release(): void
}

export interface OutputParts<T> {
  stdout: T
  stderr: T
}

/** Keeps the output of a stream. */
export interface OutputSink {
  /** Counts all bytes taken. */
  readonly totalBytes: number
  readonly isSealed: boolean
  push(chunk: Buffer): void
  /** Ignores all bytes from now on. */
  seal(): void
}

/** Starts to read at once; a stream error counts as its end. Reads the stream of a sealed ring slowly, and drops it. */
export function collectOutput(
  streams: OutputParts<Readable>,
  rings: OutputParts<OutputSink>,
  tees: OutputParts<OutputTee | null> = { stdout: null, stderr: null },
): OutputCollector {
  const { add: onOutput, notify } = createListeners()
  const names = ['stdout', 'stderr'] as const
  const drains = names.map((name) => drain(streams[name], { ring: rings[name], tee: tees[name], notify }))
  const released = Promise.all(drains).then(() => undefined)
  return {
    released,
    onOutput,
    settle: async () => {
      for (const name of names) tees[name]?.ignoreLag()
      await untilQuiet(released, () => rings.stdout.totalBytes + rings.stderr.totalBytes)
      for (const name of names) {
        rings[name].seal()
        tees[name]?.finish()
      }
    },
    release: () => {
      streams.stdout.destroy()
      streams.stderr.destroy()
    },
  }
}

/** A second reader of a stream: while it lags the stream is not read; once destroyed it is ignored. */
export interface OutputTee {
  readonly stream: Readable
  /** Takes a chunk; returns false if it lags. */
  push(chunk: Buffer): boolean
  /** Called when it no longer lags, or is destroyed. */
  onReady: () => void
  /** Call at the command's exit: takes up to 256 KiB more from its pipes even if it lags. */
  ignoreLag(): void
  /** Ends the stream. */
  finish(): void
}

/** Creates a tee that buffers up to 256 KiB of unread output. */
export function createOutputTee(): OutputTee {
  let bytesPastLag: number | null = null
  const stream = new Readable({
    highWaterMark: TEE_BYTES,
    read: () => tee.onReady(),
    destroy: (error, done) => {
      tee.onReady()
      done(error)
    },
  })
  // The reader may destroy it at any time.
  stream.on('error', () => undefined)
  const tee: OutputTee = {
    stream,
    onReady: () => undefined,
    push: (chunk) => {
      if (stream.destroyed || stream.readableEnded) return true
      const isReady = stream.push(chunk)
      if (isReady || bytesPastLag === null) return isReady
      bytesPastLag += chunk.length
      return bytesPastLag < TEE_BYTES
    },
    ignoreLag: () => {
      bytesPastLag ??= 0
      tee.onReady()
    },
    finish: () => {
      if (!stream.destroyed) stream.push(null)
    },
  }
  return tee
}

interface DrainParts {
  ring: OutputSink
  tee: OutputTee | null
  notify(): void
}

function drain(stream: Readable, { ring, tee, notify }: DrainParts): Promise<void> {
  if (tee !== null) tee.onReady = () => void stream.resume()
  return new Promise((resolve) => {
    // An empty stream ends by itself, possibly before this.
    if (stream.readableEnded || stream.destroyed) resolve()
    stream.on('data', (chunk: Buffer) => {
      if (!ring.isSealed) {
        ring.push(chunk)
        if (tee !== null && !tee.push(chunk)) stream.pause()
        notify()
        return
      }
      // Output after the end is dropped, but read so that its writers do not block; slowly, so that they cost no CPU here.
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
    // A busy event loop runs timers before I/O: let what has arrived be read before totals are compared.
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
const TEE_BYTES = 256 * 1024

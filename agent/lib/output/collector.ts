import { Readable } from 'node:stream'
import { createFlowTurns, type FlowTurns, LOOP_TURNS } from '../../../shared/flow-turns.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { FlowOwner } from '../../../shared/rotation.ts'
import type { Valve } from '../../../shared/valve.ts'

/** Reads the streams of a command into rings. */
export interface OutputCollector {
  /** Calls `listener` at each chunk. Returns a function that removes it. */
  onOutput(listener: () => void): () => void
  /**
   * Resolves when the streams have ended, have been quiet for 100 ms, or have continued for 2 s. Drops later output, and ends the tees.
   * Call it after the command's exit, since processes it left running may keep its streams open without limit.
   */
  settle(): Promise<void>
  /** Resolves once the streams are closed. */
  released: Promise<void>
  /** Closes the streams. Processes that still write to them get SIGPIPE. */
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
  /** Ignores all later bytes. */
  seal(): void
}

/** Where the output of a command goes. */
export interface OutputTaker {
  sinks: OutputParts<OutputSink>
  /** Default: none. */
  tees?: OutputParts<OutputTee | null>
  /** The owner of the output, in the turns of all that this process reads. */
  reading: { turns: OutputTurns; owner: FlowOwner }
  /** Returns true if a client reads it as it comes, beside the tees. Default: no client does. */
  isRead?(): boolean
}

/**
 * The turns of output. Output that no client reads as it comes is read slowly, so that its pipe is mostly full and its writer waits.
 * Other output is read as fast as its client reads.
 */
export interface OutputTurns {
  unread: FlowTurns
  read: FlowTurns
}

/** Creates the turns of a process. */
export function createOutputTurns({ perSecond, burst }: UnreadOutput = UNREAD_OUTPUT): OutputTurns {
  const allowance = { burst, perSecond: burst / 8 }
  return {
    unread: createFlowTurns({ pace: { bytesPerSecond: perSecond }, allowance }),
    read: LOOP_TURNS,
  }
}

/** Starts to read at once. A stream error counts as its end. Reads the stream of a sealed ring slowly, and drops it. */
export function collectOutput(streams: OutputParts<Valve>, taker: OutputTaker): OutputCollector {
  const { sinks, tees = NO_TEES } = taker
  const { add: onOutput, notify } = createListeners()
  const names = ['stdout', 'stderr'] as const
  const drains = names.map((name) => drain(streams[name], { ...taker, sink: sinks[name], tee: tees[name], notify }))
  const released = Promise.all(drains.map(({ ended }) => ended)).then(() => undefined)
  return {
    released,
    onOutput,
    settle: async () => {
      for (const { hurry } of drains) hurry()
      for (const name of names) tees[name]?.ignoreLag()
      await untilQuiet(released, () => sinks.stdout.totalBytes + sinks.stderr.totalBytes)
      for (const name of names) {
        sinks[name].seal()
        tees[name]?.finish()
      }
    },
    release: () => {
      streams.stdout.stream.destroy()
      streams.stderr.stream.destroy()
    },
  }
}

/** A second reader of a stream. While it lags, the stream is not read. Once destroyed it is ignored. */
export interface OutputTee {
  readonly stream: Readable
  /** Returns true while it still accepts chunks. */
  isAlive(): boolean
  /** Takes a chunk. Returns false if it lags. */
  push(chunk: Buffer): boolean
  /** Called when it no longer lags, or is destroyed. */
  onReady: () => void
  /** Reads up to 256 KiB more from its pipes even if it lags. Call it at the command's exit. */
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
    isAlive: () => !stream.destroyed && !stream.readableEnded,
    push: (chunk) => {
      if (!tee.isAlive()) return true
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

interface DrainParts extends Pick<OutputTaker, 'reading' | 'isRead'> {
  sink: OutputSink
  tee: OutputTee | null
  notify(): void
}

interface Drain {
  /** Resolves once the stream has. */
  ended: Promise<void>
  /** Reads as much as a pipe can hold, regardless of other waiting streams. */
  hurry(): void
}

function drain(valve: Valve, { sink, tee, notify, reading, isRead = () => false }: DrainParts): Drain {
  const { stream } = valve
  const unread = reading.turns.unread.open(reading.owner, valve)
  const read = reading.turns.read.open(reading.owner, valve)
  if (tee !== null) tee.onReady = () => valve.release('reader')
  const take = (chunk: Buffer): void => {
    const isWanted = tee?.isAlive() === true || isRead()
    ;(isWanted ? read : unread).count(chunk.length)
    if (!sink.isSealed) {
      sink.push(chunk)
      if (tee !== null && !tee.push(chunk)) valve.hold('reader')
      notify()
      return
    }
    // Output after the end is dropped, but read so that its writers do not block. It is read slowly, so that they cost no CPU here.
    valve.hold('dropped')
    setTimeout(() => valve.release('dropped'), IDLE_READ_MS).unref()
  }
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      for (const flow of [unread, read]) flow.close()
      resolve()
    }
    // An empty stream ends without data, possibly before this.
    if (stream.readableEnded || stream.destroyed) end()
    stream.on('data', take).on('end', end).on('close', end)
    stream.on('error', () => resolve())
  })
  return {
    ended,
    hurry: () => {
      for (const flow of [unread, read]) flow.hurry(PIPE_BYTES)
    },
  }
}

async function untilQuiet(ended: Promise<void>, totalBytes: () => number): Promise<void> {
  let isEnded = false
  const end = ended.then(() => {
    isEnded = true
  })
  for (let round = 0; round < QUIET_ROUNDS && !isEnded; round++) {
    const before = totalBytes()
    await endOrPause(end)
    // A busy event loop runs timers before I/O. This lets it read what has arrived before totals are compared.
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

/**
 * Limits of output that no client reads as it comes, in bytes. One is for all boxes each second, the other for a project at once before
 * it must wait.
 */
export interface UnreadOutput {
  perSecond: number
  burst: number
}

/** The output that a process takes. */
export const UNREAD_OUTPUT: UnreadOutput = { perSecond: 128 * 1024 ** 2, burst: 8 * 1024 ** 2 }

const NO_TEES = { stdout: null, stderr: null }
/** The most that is left of a command that ended. A pipe holds 64 KiB, unless it was widened, and as much was read ahead. */
const PIPE_BYTES = 512 * 1024
const QUIET_MS = 100
const QUIET_ROUNDS = 20
const IDLE_READ_MS = 50
const TEE_BYTES = 256 * 1024

import type { OutputPiece } from '@boxyard/sdk'
import { NO_OUTPUT, type OutputBlock, type OutputLog, withOutput } from './output-log.ts'

/** Collects output as it arrives, and publishes it a few times a second. A page that updates for each piece would do nothing else. */
export interface OutputFeed {
  /** Resolves once the feed accepts more. */
  take(piece: OutputPiece): Promise<void>
  /** Drops the output so far. */
  cut(): void
  /** Publishes what is left. */
  end(): void
}

/** Creates a feed of the output that follows `log`. */
export function createOutputFeed(start: OutputLog, tell: (log: OutputLog) => void): OutputFeed {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  let log = start
  let waiting: Pick<OutputBlock, 'stream' | 'text'>[] = []
  let waitingBytes = 0
  let untoldBytes = 0
  let told: Promise<void> | null = null
  const gather = (): void => {
    log = withOutput(log, waiting)
    waiting = []
    waitingBytes = 0
  }
  const flush = (): void => {
    told = null
    untoldBytes = 0
    gather()
    tell(log)
  }
  return {
    take: async ({ stream, bytes }) => {
      waiting.push({ stream, text: decoders[stream].decode(bytes, { stream: true }) })
      waitingBytes += bytes.length
      untoldBytes += bytes.length
      told ??= new Promise((resolve) => {
        setTimeout(() => {
          flush()
          resolve()
        }, EVERY_MS)
      })
      // Output that is cut is not held until then.
      if (waitingBytes > GATHERED_BYTES) gather()
      if (untoldBytes > UNTOLD_BYTES_MAX) await told
    },
    cut: () => {
      gather()
      log = { ...NO_OUTPUT, isCut: true, nextId: log.nextId }
    },
    end: flush,
  }
}

const EVERY_MS = 80
const GATHERED_BYTES = 256 * 1024
/** A slow page shows output within a second or two of a signal. */
const UNTOLD_BYTES_MAX = 2 * 1024 * 1024

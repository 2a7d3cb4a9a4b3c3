import type { OutputPiece } from '@boxyard/sdk'
import { NO_OUTPUT, type OutputBlock, type OutputLog, withOutput } from './output-log.ts'

/** Takes output as it comes, and tells of it some times a second: a page that is told of each piece would do nothing else. */
export interface OutputFeed {
  /** Resolves once there is room for more. */
  take(piece: OutputPiece): Promise<void>
  /** Leaves out what has come so far. */
  cut(): void
  /** Tells what is left. */
  end(): void
}

/** Makes a feed of what goes on behind `log`. */
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
      // What is left out is not kept until then.
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
/** What has come to a slow page is shown within a second or two of a signal. */
const UNTOLD_BYTES_MAX = 2 * 1024 * 1024

import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { systemText } from './system-text.ts'
import { reportLine } from './terminal.ts'

/**
 * Stdout and stderr of this process, from its start to its exit. Only this file ends the process. If the reader of a pipe is slow, Node.js
 * still holds written bytes in memory, and `process.exit` drops them.
 */
export class Outputs {
  readonly #failures = new Map<Name, Error>()
  readonly #broken: Promise<void>

  constructor() {
    this.#broken = new Promise((resolve) => {
      for (const name of NAMES) {
        const stream = process[name]
        if (isWrittenAtOnce(name)) stream._write = writeAll(FDS[name])
        stream.on('error', (error: Error) => {
          if (!this.#failures.has(name)) this.#failures.set(name, error)
          if (name === 'stdout' || areOne()) resolve()
        })
      }
    })
  }

  /**
   * Ends the process with the code of the work, once the work has ended and all output has been written. If stdout breaks, the work has
   * `GRACE_MS` to end. A reader that left (EPIPE) changes no code. Any other fault is `LOST_CODE`, with a message.
   */
  async exitAfter(work: Promise<number>): Promise<void> {
    const late = this.#broken.then(() => pause(GRACE_MS, null))
    const code = await Promise.race([work, late])
    await flush()
    const fault = this.#fault()
    if (fault === null) process.exit(code ?? 0)
    const ended = code === null ? 'had not finished' : `exited with code ${code}`
    reportLine(`boxyard: ${fault}: some output was lost. The command ${ended}.`)
    await flush()
    process.exit(LOST_CODE)
  }

  /** Returns the failure of an output, or null if there is none or its reader left. */
  #fault(): string | null {
    for (const [name, error] of this.#failures)
      if (!('code' in error && error.code === 'EPIPE')) return `${name}: ${systemText(error) ?? error.message}`
    return null
  }
}

/** Waits until the output has been written, or has failed and its error has been emitted. */
async function flush(): Promise<void> {
  await Promise.all(NAMES.map((name) => new Promise<void>((resolve) => process[name].write('', () => resolve()))))
  await new Promise((resolve) => setImmediate(resolve))
}

/** Returns whether an output is a file or a device but not a terminal. Node.js writes to these synchronously. */
function isWrittenAtOnce(name: Name): boolean {
  if (process[name].isTTY) return false
  const stat = fstatSync(FDS[name])
  return !stat.isFIFO() && !stat.isSocket()
}

/** Returns whether both outputs have the same reader, as with `2>&1`. */
function areOne(): boolean {
  const [stdout, stderr] = NAMES.map((name) => fstatSync(FDS[name]))
  return stdout?.dev === stderr?.dev && stdout?.ino === stderr?.ino
}

/** Writes all of a piece. Node.js drops the rest if a disk, a quota or a limit accepts only a part of it. */
function writeAll(fd: number): Writable['_write'] {
  return (piece: string | Uint8Array, encoding, done) => {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, encoding) : piece
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    } catch (error) {
      return done(error as Error)
    }
    done()
  }
}

const NAMES = ['stdout', 'stderr'] as const
const FDS = { stdout: 1, stderr: 2 } as const
type Name = (typeof NAMES)[number]
/** Exit code for lost output (EX_IOERR of sysexits.h), which no other outcome uses. */
const LOST_CODE = 74
/** Time for the work to end after its output broke. Only a stream without a reader still runs then. */
const GRACE_MS = 1000

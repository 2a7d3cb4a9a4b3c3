import { constants, fstatSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import { UsageError } from '../output/failures.ts'
import { systemText } from '../output/system-text.ts'
import { nameOfKind, specialKindOf } from './special-files.ts'

/**
 * Returns the descriptor of a pipe that the shell gave to this process, such as `/dev/fd/63` for `<(command)`. Returns null for any other
 * path, also for a FIFO with a name in a directory.
 */
export function pipeDescriptorOf(path: string): number | null {
  const [found, digits = '0'] = /^\/(?:dev|proc\/self)\/(?:stdin|fd\/(\d{1,6}))$/.exec(resolve(path)) ?? []
  if (found === undefined) return null
  try {
    return fstatSync(Number(digits)).isFIFO() ? Number(digits) : null
  } catch {
    // The descriptor is closed. Opening the path reports that.
    return null
  }
}

/** Reads a pipe of the shell. Never blocks a thread, so that the program can end while the pipe is silent. */
export function readPipe(descriptor: number): AsyncIterable<Uint8Array> {
  const input = descriptor === 0 ? process.stdin : new Socket({ fd: descriptor, readable: true, writable: false })
  return withPath(`/dev/fd/${descriptor}`, input)
}

/** Reads stdin. @throws UsageError if it is a directory, which Node.js reads as empty */
export function readStdin(): AsyncIterable<Uint8Array> {
  if (fstatSync(0).isDirectory()) throw new UsageError('stdin is a directory, not a file.')
  return withPath('stdin', process.stdin)
}

/**
 * Describes a file that a command will read. Follows links.
 * @throws UsageError for a directory, FIFO, socket or device, and Error of the system if there is no such file
 */
export function describeInput(path: string): Stats {
  const stats = statSync(path)
  checkKind(path, stats)
  return stats
}

/** Checks a file or pipe of the shell before a command reads it. @throws as `describeInput` */
export function checkInput(path: string): void {
  if (pipeDescriptorOf(path) === null) describeInput(path)
}

/** Reads the first `sizeBytes` of a file, or all of it for null. Never waits for a FIFO. @throws Error with the path */
export async function* readInput(path: string, sizeBytes: number | null): AsyncGenerator<Uint8Array> {
  const end = sizeBytes === null ? {} : { end: sizeBytes - 1 }
  yield* withPath(path, piecesOf(path, end))
}

/** Passes on the pieces. If their source fails, throws an error that names the path, and that no other part mistakes for its own. */
export async function* withPath<T>(path: string, pieces: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pieces
  } catch (error) {
    throw inputError(path, error)
  }
}

/** Awaits an access to a file of this machine. @throws Error with the path */
export async function atPath<T>(path: string, access: Promise<T>): Promise<T> {
  try {
    return await access
  } catch (error) {
    throw inputError(path, error)
  }
}

/** The client takes errors with a code for errors of the network. */
function inputError(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error
  return new Error(`${path}: ${systemText(error) ?? error.message}`, { cause: error })
}

async function* piecesOf(path: string, range: { end?: number }): AsyncGenerator<Uint8Array> {
  // A FIFO may have replaced the file since. Windows has neither FIFOs nor this flag.
  const file: FileHandle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    checkKind(path, await file.stat())
    yield* file.createReadStream({ highWaterMark: READ_BYTES, autoClose: false, ...range })
  } finally {
    await file.close()
  }
}

function checkKind(path: string, stats: Stats): void {
  const special = specialKindOf(stats)
  if (special === null && !stats.isDirectory()) return
  const kind = special === null ? 'directory' : nameOfKind(special)
  throw new UsageError(`${path} is a ${kind}, not a file. To read a pipe, use - for stdin.`)
}

const READ_BYTES = 1024 * 1024

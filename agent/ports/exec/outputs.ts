import type { Readable } from 'node:stream'
import type { ExecOutput } from '../store/exec.ts'

export type OutputStream = 'stdout' | 'stderr'

/** Identifies a command by its own id and its box's. */
export interface ExecKey {
  boxId: string
  execId: string
}

/** At most `maxBytes` of a stream, from `offset` on. */
export interface OutputRange {
  stream: OutputStream
  offset: number
  maxBytes: number
}

/** `bytes` from `offset` on, which is later than requested if those bytes are no longer kept, of `totalBytes` written in all. */
export interface OutputPiece {
  offset: number
  bytes: Uint8Array
  totalBytes: number
}

/** The output of a command whose end is not recorded yet. */
export interface LiveOutput {
  totals(): Record<OutputStream, number>
  read(range: OutputRange): OutputPiece
  /** Takes no more output, and resolves once the files are synced to disk. Call it after the command's exit. */
  settle(): Promise<SettledOutput>
}

/** The output to keep in the record of an ended command. */
export interface SettledOutput {
  output: ExecOutput
  /** Bytes kept in files, of the streams that are null in `output`. */
  fileBytes: number
}

/** Output that this process reads from the command's own streams. */
export interface CollectedOutput extends LiveOutput {
  /**
   * Copies of the requested streams. While a reader does not read one, the command blocks. They end once the command has ended and its
   * output is read. Destroying one lets the command continue.
   */
  copies: Record<OutputStream, Readable | null>
  /** Calls `listener` at new bytes. Returns a function that removes it. */
  onOutput(listener: () => void): () => void
  /** Frees memory and file descriptors. */
  close(): void
  /** Resolves once the streams are closed. Processes that the command left running may keep them open for long. */
  released: Promise<void>
  /** Closes the streams. Processes that still write to them get SIGPIPE. */
  release(): void
}

/** Keeps the ends of commands' streams, in memory while they are small, else in files. */
export interface ExecOutputs {
  /** Reads the streams to their end, by turns of projects and their boxes. Also returns copies of those in `copied`. */
  collect(
    key: ExecKey & { project: string },
    streams: Record<OutputStream, Readable>,
    copied?: readonly OutputStream[],
  ): CollectedOutput
  /** Reads the streams to their end by the same turns, and keeps nothing. */
  drop(owner: { boxId: string; project: string }, streams: Record<OutputStream, Readable>): void
  /** Follows the output that a shim writes to the files of a detached command. */
  follow(key: ExecKey): LiveOutput
  /** Reads a stream of an ended command from its file. An empty piece if there is none. */
  read(key: ExecKey, range: OutputRange): OutputPiece
  /** Removes the files of a command, by default for both streams. Does nothing if they are absent. */
  remove(key: ExecKey, streams?: readonly OutputStream[]): Promise<void>
  /** Removes all files of a box. */
  removeBox(boxId: string): Promise<void>
  /** Removes the files of all commands that are not `known`. */
  sweep(known: readonly ExecKey[]): Promise<void>
}

import type { Readable } from 'node:stream'
import type { ExecOutput } from '../store/exec.ts'

export type OutputStream = 'stdout' | 'stderr'

/** A command by its box and its own id. */
export interface OutputPlace {
  boxId: string
  execId: string
}

/** At most `maxBytes` of a stream, from `offset` on. */
export interface OutputRange {
  stream: OutputStream
  offset: number
  maxBytes: number
}

/** `bytes` from `offset` on, later than asked for where the asked ones are no longer kept, of `totalBytes` written in all. */
export interface OutputPiece {
  offset: number
  bytes: Uint8Array
  totalBytes: number
}

/** The output of a command that has not ended. */
export interface LiveOutput {
  totals(): Record<OutputStream, number>
  read(range: OutputRange): OutputPiece
  /** For after the command's exit: no more is taken; resolves once what is in files survives a power cut. */
  settle(): Promise<SettledOutput>
}

/** Output as the record of an ended command keeps it. */
export interface SettledOutput {
  output: ExecOutput
  /** Kept bytes of what is null in `output`. */
  fileBytes: number
}

/** Output that this process reads from the command's own streams. */
export interface CollectedOutput extends LiveOutput {
  /**
   * The streams again, for those wished for: while one is not read, the command waits. They end once the command has ended and
   * what it wrote is read; to destroy one lets the command go on.
   */
  copies: Record<OutputStream, Readable | null>
  /** Calls `listener` at new bytes; returns what stops it. */
  onOutput(listener: () => void): () => void
  /** Lets go of memory and files. */
  close(): void
  /** Resolves once nobody holds the streams any more; what the command left running may do so for long. */
  released: Promise<void>
  /** Lets go of the streams: whoever still writes to them gets SIGPIPE. */
  release(): void
}

/** The kept ends of commands' streams: in memory while they are small, else in files. */
export interface ExecOutputs {
  /** Reads the streams from now on, to their end; those of `copied` are given again. */
  collect(
    place: OutputPlace,
    streams: Record<OutputStream, Readable>,
    copied?: readonly OutputStream[],
  ): CollectedOutput
  /** What is written to the files of a held command. */
  follow(place: OutputPlace): LiveOutput
  /** Reads a stream that an ended command has in a file; nothing where there is none. */
  read(place: OutputPlace, range: OutputRange): OutputPiece
  /** Removes the files of a command, of both streams if none is named; absent ones are a success. */
  remove(place: OutputPlace, streams?: readonly OutputStream[]): Promise<void>
  /** Removes all files of a box. */
  removeBox(boxId: string): Promise<void>
  /** Removes the files of all commands but those that are `known`. */
  sweep(known: readonly OutputPlace[]): Promise<void>
}

import { PassThrough } from 'node:stream'
import type { CommandStream, StreamEnd } from '../../../agent/core/exec/command-stream.ts'
import type { TerminalSize } from '../../../agent/ports/boxes/runtime.ts'

/** A command controlled by a test. */
export interface ScriptedStream {
  stream: CommandStream
  /** Receives the client's input. Write the command's output to `stdout` and `stderr`. */
  stdin: PassThrough
  stdout: PassThrough
  stderr: PassThrough
  sizes: TerminalSize[]
  /** Settles when the client disconnects. */
  left: Promise<void>
  hasLeft(): boolean
  /** Ends the command. Also ends its output, unless `keepsOutput` is true. */
  end(how?: Partial<StreamEnd>, keepsOutput?: boolean): void
}

/** Creates a command that runs until `end`, by default on a terminal. */
export function makeScriptedStream(id = 'exe_00000000000000000000000001', hasTerminal = true): ScriptedStream {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const sizes: TerminalSize[] = []
  const ended = Promise.withResolvers<StreamEnd>()
  const left = Promise.withResolvers<void>()
  let hasLeft = false
  const stream: CommandStream = {
    id,
    stdin,
    stdout,
    stderr,
    comesByTurns: false,
    outlivesClient: false,
    terminal: hasTerminal ? { resize: (size) => void sizes.push(size) } : null,
    ended: ended.promise,
    disconnect: () => {
      hasLeft = true
      for (const each of [stdin, stdout, stderr]) each.destroy()
      left.resolve()
    },
  }
  return {
    ...{ stream, stdin, stdout, stderr, sizes, left: left.promise },
    hasLeft: () => hasLeft,
    end: (how = {}, keepsOutput = false) => {
      ended.resolve({ exitCode: how.signal ? null : 0, signal: null, note: null, ...how })
      if (keepsOutput) return
      stdout.end()
      stderr.end()
    },
  }
}

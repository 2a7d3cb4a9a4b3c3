import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { changeOwner, closeFd, openPipe } from '../../lib/syscalls/descriptors.ts'
import type { RunningExec } from '../../ports/boxes/runtime.ts'
import type { ExecContext } from '../host/crun.ts'
import type { OciProcess } from '../host/oci-spec.ts'

/** This process's side of a command's streams. */
export type ExecStreams = Pick<RunningExec, 'stdin' | 'stdout' | 'stderr' | 'terminal'>

/** Both sides of a command's streams. Call exactly one of `open`, `refuse` and `close`, once crun has ended. */
export interface ExecEnds {
  /** The command's side, for crun. */
  childSide: Pick<ExecContext, 'stdio' | 'terminal' | 'programFd'>
  /** The process for crun to start. */
  process: OciProcess
  /** Opens this side of a running command's streams. Throws, leaving nothing open, if crun did not make the terminal. */
  open(): ExecStreams
  /** Opens this side of a command that could not start. Its output is `line`. */
  refuse(line: string): ExecStreams
  close(): void
}

/**
 * Creates pipes owned by the user (host ids), so that the command can reopen /dev/stdout and the like. `isMerged` sends
 * stderr into stdout's pipe.
 */
export function openPipes(
  process: OciProcess,
  { uid, gid, isMerged }: { uid: number; gid: number; isMerged: boolean },
): ExecEnds {
  const [input, output, error] = openPipesOwnedBy({ uid, gid }, isMerged ? 2 : 3) as [Pipe, Pipe, Pipe?]
  const childFds = [input.readFd, output.writeFd, ...(error ? [error.writeFd] : [])]
  const ownFds = [input.writeFd, output.readFd, ...(error ? [error.readFd] : [])]
  const openStdin = (): Socket => {
    childFds.forEach(closeFd)
    return ignoreErrors(new Socket({ fd: input.writeFd, readable: false, writable: true }))
  }
  return {
    childSide: { stdio: [input.readFd, output.writeFd, (error ?? output).writeFd] },
    process,
    open: () => ({
      stdin: openStdin(),
      stdout: readerOf(output),
      stderr: error ? readerOf(error) : Readable.from([]),
      terminal: null,
    }),
    refuse: (line) => {
      // So far only crun has written to the last pipe, and its message is not part of the command's output.
      closeFd((error ?? output).readFd)
      const message = Readable.from(line === '' ? [] : [Buffer.from(line)])
      const streams = error
        ? { stdout: readerOf(output), stderr: message }
        : { stdout: message, stderr: Readable.from([]) }
      return { stdin: openStdin(), ...streams, terminal: null }
    },
    close: () => [...childFds, ...ownFds].forEach(closeFd),
  }
}

function readerOf({ readFd }: Pipe): Socket {
  return ignoreErrors(new Socket({ fd: readFd, readable: true, writable: false }))
}

function openPipesOwnedBy({ uid, gid }: { uid: number; gid: number }, count: number): Pipe[] {
  const fds: number[] = []
  const open = (): Pipe => {
    const pipe = openPipe()
    fds.push(pipe.readFd, pipe.writeFd)
    changeOwner(pipe.readFd, uid, gid)
    return pipe
  }
  try {
    return Array.from({ length: count }, open)
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

type Pipe = ReturnType<typeof openPipe>

// A peer that closes its end, or dies, must not raise an unhandled error here.
function ignoreErrors(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

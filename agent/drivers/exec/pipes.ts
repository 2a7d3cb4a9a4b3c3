import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { changeOwner, closeFd, openPipe } from '../../lib/syscalls/descriptors.ts'
import type { RunningExec } from '../../ports/boxes/runtime.ts'
import type { ExecPlace } from '../host/crun.ts'
import type { OciProcess } from '../host/oci-spec.ts'

/** What a command's reader and writer get. */
export type ExecStreams = Pick<RunningExec, 'stdin' | 'stdout' | 'stderr' | 'terminal'>

/** The two sides of a command's streams. Exactly one of `open`, `refuse` and `close` is called, once crun has ended. */
export interface ExecEnds {
  /** The side of the command, to be given to crun. */
  theirs: Pick<ExecPlace, 'stdio' | 'terminal'>
  /** What crun is to start. */
  process: OciProcess
  /** Our side of a command that runs. Throws, with nothing left open, where crun did not make what it was asked for. */
  open(): ExecStreams
  /** Our side of a command that does not: all that it says is `line`. */
  refuse(line: string): ExecStreams
  close(): void
}

/**
 * Pipes that belong to the user, an id of the host, so that /dev/stdout and its kin can be opened anew. With `isMerged` both
 * outputs go into one.
 */
export function openPipes(
  process: OciProcess,
  { uid, gid, isMerged }: { uid: number; gid: number; isMerged: boolean },
): ExecEnds {
  if (isMerged) return openMerged(process, { uid, gid })
  const [input, output, error] = openOwnPipes({ uid, gid }, 3) as [Pipe, Pipe, Pipe]
  const theirs = [input.readFd, output.writeFd, error.writeFd] as const
  const closeTheirs = (): void => theirs.forEach(closeFd)
  const openStreams = (): Pick<ExecStreams, 'stdin' | 'stdout'> => {
    closeTheirs()
    return {
      stdin: guarded(new Socket({ fd: input.writeFd, readable: false, writable: true })),
      stdout: guarded(new Socket({ fd: output.readFd, readable: true, writable: false })),
    }
  }
  return {
    theirs: { stdio: theirs },
    process,
    open: () => {
      const stderr = guarded(new Socket({ fd: error.readFd, readable: true, writable: false }))
      return { ...openStreams(), stderr, terminal: null }
    },
    refuse: (line) => {
      // Nothing but crun has written so far, and its words are not the command's.
      closeFd(error.readFd)
      return { ...openStreams(), stderr: Readable.from(line === '' ? [] : [Buffer.from(line)]), terminal: null }
    },
    close: () => [...theirs, input.writeFd, output.readFd, error.readFd].forEach(closeFd),
  }
}

function openMerged(process: OciProcess, user: { uid: number; gid: number }): ExecEnds {
  const [input, output] = openOwnPipes(user, 2) as [Pipe, Pipe]
  const theirs = [input.readFd, output.writeFd]
  const openInput = (): Socket => {
    theirs.forEach(closeFd)
    return guarded(new Socket({ fd: input.writeFd, readable: false, writable: true }))
  }
  const rest = { stderr: Readable.from([]), terminal: null }
  return {
    theirs: { stdio: [input.readFd, output.writeFd, output.writeFd] },
    process,
    open: () => {
      const stdin = openInput()
      return { stdin, stdout: guarded(new Socket({ fd: output.readFd, readable: true, writable: false })), ...rest }
    },
    refuse: (line) => {
      closeFd(output.readFd)
      return { stdin: openInput(), stdout: Readable.from(line === '' ? [] : [Buffer.from(line)]), ...rest }
    },
    close: () => [...theirs, input.writeFd, output.readFd].forEach(closeFd),
  }
}

function openOwnPipes({ uid, gid }: { uid: number; gid: number }, count: number): Pipe[] {
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

// A box that closes its end, or is killed, is no fault of whoever reads and writes here.
function guarded(socket: Socket): Socket {
  return socket.on('error', () => undefined)
}

import { Readable, Writable } from 'node:stream'
import { closeFd, openPipe } from '../../lib/syscalls/descriptors.ts'
import { editInUtf8, isPtyMaster, openPty } from '../../lib/syscalls/pty.ts'
import { acceptNow, openNamelessListener, receiveFds } from '../../lib/syscalls/sockets.ts'
import type { OciProcess } from '../host/oci-spec.ts'
import { openProgram } from './machine-code.ts'
import type { ExecEnds } from './pipes.ts'
import { buildTerminalGate, candidatePaths, GATE_FD } from './terminal-gate.ts'

/**
 * Opens the streams of a command with a terminal. In the box, crun creates the terminal and sends it back over a socket in `workDir`, where
 * no file stays. All output of a terminal comes on stdout, including the error line of a command that could not start.
 */
export function openTerminal(workDir: string, { consoleSize, ...process }: OciProcess): ExecEnds {
  const { gateFd, doorFd, listenFd, stdio, fds } = openSide(workDir, process)
  const receive = (): number[] => {
    try {
      return receiveConsole(listenFd)
    } finally {
      fds.forEach(closeFd)
    }
  }
  const close = (): void => receive().forEach(closeFd)
  return {
    childSide: { stdio, terminal: { gateFd, doorFd } },
    process: { ...process, args: [`/proc/self/fd/${GATE_FD}`, ...process.args] },
    open: () => {
      const fd = onlyTerminal(receive())
      const { stdin, stdout, resize } = openPty(fd)
      editInUtf8(fd)
      // The starter waits for a size, so that the program finds the terminal in its final state.
      resize({ cols: consoleSize?.width ?? DEFAULT_SIZE.cols, rows: consoleSize?.height ?? DEFAULT_SIZE.rows })
      return { stdin, stdout, stderr: Readable.from([]), terminal: { resize } }
    },
    refuse: (line) => {
      close()
      const stdin = new Writable({ write: (_chunk, _encoding, done) => done() })
      const stdout = Readable.from(line === '' ? [] : [Buffer.from(line.replaceAll('\n', '\r\n'))])
      return { stdin, stdout, stderr: Readable.from([]), terminal: { resize: () => undefined } }
    },
    close,
  }
}

interface CrunSide {
  gateFd: number
  doorFd: number
  listenFd: number
  stdio: [number, number, number]
  /** All descriptors of this side. */
  fds: number[]
}

function openSide(workDir: string, process: OciProcess): CrunSide {
  const fds: number[] = []
  try {
    const gateFd = openGate(workDir, process)
    fds.push(gateFd)
    const { listenFd, doorFd } = openNamelessListener(workDir)
    fds.push(listenFd, doorFd)
    // Only for crun, which must not get /dev/null, because it would change its owner.
    const input = openPipe()
    closeFd(input.writeFd)
    fds.push(input.readFd)
    const output = openPipe()
    fds.push(output.readFd, output.writeFd)
    return { gateFd, doorFd, listenFd, stdio: [input.readFd, output.writeFd, output.writeFd], fds }
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

function openGate(workDir: string, { args: [program = ''], env }: OciProcess): number {
  const search = env.findLast((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? ''
  const gate = buildTerminalGate({ program, candidates: candidatePaths(program, search) }, process.arch)
  return openProgram(workDir, gate, 0o755)
}

function onlyTerminal(fds: readonly number[]): number {
  try {
    const [fd] = fds
    if (fd !== undefined && fds.length === 1 && isPtyMaster(fd)) return fd
    throw new Error(`crun sent ${fds.length} descriptors instead of a terminal`)
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

// Call after crun's end, when everything it sends has arrived.
function receiveConsole(listenFd: number): number[] {
  const socketFd = acceptNow(listenFd)
  if (socketFd === null) return []
  try {
    return receiveFds(socketFd)
  } finally {
    closeFd(socketFd)
  }
}

const DEFAULT_SIZE = { cols: 80, rows: 24 }

import { closeFd } from '../../lib/syscalls/descriptors.ts'
import type { OciProcess } from '../host/oci-spec.ts'
import { buildProgram, instructions, jump64, load64, loadArm, openProgram } from './machine-code.ts'
import { type ExecEnds, openPipes } from './pipes.ts'

/** Where a holder makes its socket, in the box. */
export interface HeldSocket {
  /** A directory that is not there yet. */
  directory: string
  /** A name in it. */
  path: string
}

/** A holder to start. */
export interface HolderStart extends HeldSocket {
  /** A directory in memory that only this process uses. */
  workDir: string
  process: OciProcess
  /** Its user, by ids on the host. */
  ids: { uid: number; gid: number }
  /** The socket, which stays open. */
  fd: number
}

/** Opens the streams of a holder, which writes a line to its output once the socket has its name. */
export function openHolderEnds({ workDir, process, ids, fd, ...held }: HolderStart): ExecEnds {
  const programFd = openProgram(workDir, buildSocketHolder(held, globalThis.process.arch), 0o711)
  try {
    const { childSide, open, refuse, close, ...ends } = openPipes(process, { ...ids, isMerged: true })
    const [input, output] = childSide.stdio
    const closing =
      <Args extends unknown[], T>(act: (...args: Args) => T) =>
      (...args: Args): T => {
        closeFd(programFd)
        return act(...args)
      }
    return {
      ...ends,
      childSide: { stdio: [input, output, fd], programFd },
      open: closing(open),
      refuse: closing(refuse),
      close: closing(close),
    }
  } catch (error) {
    closeFd(programFd)
    throw error
  }
}

/**
 * Builds a static program that names a socket in the box. It has the socket as descriptor 2. It makes the directory (0700), binds the
 * socket to the name in it (0600) and writes a line. When its input ends, it removes both and exits with 0. A killed agent ends the input
 * as well. If it cannot make them, it exits with the errno. It blocks all signals but SIGKILL, or a stop of the box would leave the name.
 * It closes descriptor 3, its executable, and its copy of the socket.
 *
 * It is a process of the box with the rights of its user, so the host resolves no path of the box. It is machine code because a box need
 * not contain any program.
 */
export function buildSocketHolder({ directory, path }: HeldSocket, machine: NodeJS.Architecture): Buffer {
  const { call, ifFailed } = machine === 'arm64' ? ARM64 : X64
  const address = addressOf(path)
  const data = [
    Buffer.from(`${directory}\0`),
    Buffer.from(`${path}\0`),
    address,
    Buffer.alloc(8, 0xff),
    Buffer.from('\n'),
  ]
  return buildProgram(machine, data, ([directoryAt = 0, pathAt = 0, addressAt = 0, signalsAt = 0, lineAt = 0]) => {
    const removeDirectory = call('unlinkat', 0, directoryAt, AT_REMOVEDIR)
    return [
      call('rt_sigprocmask', SIG_BLOCK, signalsAt, 0, 8),
      call('mkdirat', 0, directoryAt, 0o700),
      ifFailed(Buffer.alloc(0)),
      call('bind', 2, addressAt, address.length),
      ifFailed(removeDirectory),
      call('fchmodat', 0, pathAt, 0o600),
      call('close', 2),
      call('close', 3),
      call('write', 1, lineAt, 1),
      // Returns at the end of the input. Bytes would make it fail.
      call('read', 0, 0, 1),
      call('unlinkat', 0, pathAt, 0),
      removeDirectory,
      call('exit', 0),
    ]
  })
}

type Call = keyof typeof NUMBERS

/** Emits machine code. */
interface Encoder {
  call(name: Call, ...args: number[]): Buffer
  /** If the call before failed, runs `code`, and exits with the errno. */
  ifFailed(code: Buffer): Buffer
}

const X64: Encoder = {
  call: (name, ...args) => {
    const loads = args.map((value, index) => load64(['48bf', '48be', '48ba', '49ba'][index] ?? '', value))
    return Buffer.concat([...loads, load64('48b8', NUMBERS[name].x64), Buffer.from('0f05', 'hex')])
  },
  ifFailed: (code) => {
    // `mov r14,rax; test r14,r14; jns` over, …, `mov rdi,r14; neg rdi; mov rax,231; syscall`
    const end = [Buffer.from('4c89f7' + '48f7df', 'hex'), load64('48b8', NUMBERS.exit.x64), Buffer.from('0f05', 'hex')]
    const failed = Buffer.concat([code, ...end])
    return Buffer.concat([Buffer.from('4989c6' + '4d85f6', 'hex'), jump64('0f89', failed.length), failed])
  },
}

const ARM64: Encoder = {
  call: (name, ...args) => {
    const loads = args.map((value, register) => loadArm(register, value))
    return Buffer.concat([...loads, loadArm(8, NUMBERS[name].arm64), instructions(0xd4000001)])
  },
  ifFailed: (code) => {
    // `mov x21,x0; tbz x21,#63` over, …, `neg x0,x21; mov x8,#94; svc`
    const end = [instructions(0xcb1503e0), loadArm(8, NUMBERS.exit.arm64), instructions(0xd4000001)]
    const failed = Buffer.concat([code, ...end])
    return Buffer.concat([instructions(0xaa0003f5, 0xb6f80015 | ((failed.length / 4 + 1) << 5)), failed])
  },
}

// struct sockaddr_un.
function addressOf(path: string): Buffer {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1)
  address.writeUInt16LE(AF_UNIX, 0)
  address.write(path, 2)
  return address
}

/** Starts a holder, whose executable is descriptor 3. The last word shows in lists of processes. */
export const HOLDER_COMMAND = ['/proc/self/fd/3', 'ssh-agent-socket'] as const

const NUMBERS = {
  read: { x64: 0, arm64: 63 },
  write: { x64: 1, arm64: 64 },
  close: { x64: 3, arm64: 57 },
  rt_sigprocmask: { x64: 14, arm64: 135 },
  bind: { x64: 49, arm64: 200 },
  exit: { x64: 231, arm64: 94 },
  mkdirat: { x64: 258, arm64: 34 },
  unlinkat: { x64: 263, arm64: 35 },
  fchmodat: { x64: 268, arm64: 53 },
} as const
const AF_UNIX = 1
const AT_REMOVEDIR = 0x200
const SIG_BLOCK = 0

import { buildProgram, instructions, jump64, load64, loadArm } from './machine-code.ts'

/** The program that the starter executes. */
export interface GateTask {
  /** Name of the program, for the message if it cannot start. */
  program: string
  /** Possible paths, tried in order. */
  candidates: readonly string[]
}

/**
 * Builds a static program that waits until its terminal has a size and then executes its remaining arguments, as execvp does. If it cannot,
 * it prints the reason on the terminal and exits with 127 or 126. It closes descriptor 3, from which it was executed. It is machine code
 * because a box need not contain any program. It stays below 128 KiB with the result of `candidatePaths`.
 *
 * Needed because `crun exec`, in all versions up to 1.29, starts the program before it sets `consoleSize`. On a busy host 31 % of programs
 * saw a wrong size. With this starter none of 1,000 did, at a cost of 0.2 ms (`npm run bench -- terminals`).
 *
 * Simpler ways fail:
 * - The agent could create a terminal in the box's devpts and pass its descriptors. That is not a controlling terminal. crun starts a
 *   session, and the program, which would have to acquire the terminal, does not. A shell then has no job control.
 * - Debian's static busybox before the program (`sh -c 'read …; exec "$@"'`) runs its own applets, such as `ls`, instead of the box's
 *   programs. It also changes the environment (SHLVL), as any shell does.
 * - `crun run` in the namespaces of the box sets the size in time, but mounts the terminal over the box's /dev/console.
 */
export function buildTerminalGate(task: GateTask, machine: NodeJS.Architecture): Buffer {
  const encode = machine === 'arm64' ? ARM64 : X64
  const pause = Buffer.alloc(16)
  pause.writeBigUInt64LE(PAUSE_NS, 8)
  const missing = Buffer.from(`boxyard: ${shownName(task.program)}: not found\n`)
  const refused = Buffer.from(`boxyard: ${shownName(task.program)}: cannot be started\n`)
  const paths = task.candidates.map((path) => Buffer.from(`${path}\0`))
  const complain = (at: number, { length }: Buffer, exitCode: number): Buffer =>
    Buffer.concat([encode.call('write', 2, at, length), encode.call('exit', exitCode)])
  return buildProgram(machine, [pause, missing, refused, ...paths], ([pauseAt, missingAt, refusedAt, ...pathsAt]) => [
    encode.begin,
    encode.untilSized(pauseAt ?? 0),
    encode.call('close', GATE_FD),
    ...pathsAt.map((at) => encode.become(at)),
    encode.unlessRefused(complain(missingAt ?? 0, missing, 127)),
    complain(refusedAt ?? 0, refused, 126),
  ])
}

/**
 * Returns the paths that execvp tries for `program` with a value of PATH, without duplicates and paths too long for the kernel. Returns at
 * most 1,024 paths and 64 KiB, since a request determines them and the starter contains them all.
 */
export function candidatePaths(program: string, path: string): string[] {
  if (program === '' || program.includes('/')) return Buffer.byteLength(program) > MAX_PATH_BYTES ? [] : [program]
  if (Buffer.byteLength(program) > MAX_NAME_BYTES) return []
  const candidates = new Set<string>()
  let room = MAX_CANDIDATES_BYTES
  for (const directory of path.split(':')) {
    const candidate = `${directory === '' ? '.' : directory}/${program}`
    const size = Buffer.byteLength(candidate)
    if (size > MAX_PATH_BYTES || candidates.has(candidate)) continue
    room -= size + 1
    if (room < 0 || candidates.size === MAX_CANDIDATES) break
    candidates.add(candidate)
  }
  return [...candidates]
}

/** Returns the first 200 characters of `program`, for a message. */
export function shownName(program: string): string {
  return program.length > MAX_SHOWN_LENGTH ? `${program.slice(0, MAX_SHOWN_LENGTH)}…` : program
}

type Call = 'write' | 'close' | 'ioctl' | 'nanosleep' | 'execve' | 'exit'

/** Emits machine code. Registers keep the arguments, the environment and the last failure between calls. */
interface Encoder {
  begin: Buffer
  call(name: Call, ...args: number[]): Buffer
  /** Polls the terminal's size until it is set, or until there is no terminal. Sleeps for the timespec at `pauseAt` between polls. */
  untilSized(pauseAt: number): Buffer
  /** Calls execve with the path at `address`. Keeps a failure other than ENOENT and ENOTDIR. */
  become(address: number): Buffer
  /** Runs `code` if no failure was kept. */
  unlessRefused(code: Buffer): Buffer
}

const X64: Encoder = {
  // `lea r12,[rsp+16]; mov r13,[rsp]; lea r13,[r12+r13*8]; xor r14,r14`
  begin: Buffer.from('4c8d642410' + '4c8b2c24' + '4f8d2cec' + '4d31f6', 'hex'),
  call: (name, ...args) => {
    const numbers = { write: 1, close: 3, ioctl: 16, nanosleep: 35, execve: 59, exit: 231 }
    const loads = args.map((value, index) => load64(['48bf', '48be', '48ba'][index] ?? '', value))
    return Buffer.concat([...loads, load64('48b8', numbers[name]), Buffer.from('0f05', 'hex')])
  },
  untilSized: (pauseAt) => {
    // `lea rdx,[rsp-16]`
    const ask = Buffer.concat([Buffer.from('488d5424f0', 'hex'), X64.call('ioctl', 0, TIOCGWINSZ)])
    const sleep = X64.call('nanosleep', pauseAt, 0)
    // `test rax,rax; js` to the end, `cmp dword [rsp-16],0; jne` to the end
    const isFailed = Buffer.concat([Buffer.from('4885c0', 'hex'), jump64('0f88', 5 + 6 + sleep.length + 5)])
    const isSized = Buffer.concat([Buffer.from('837c24f000', 'hex'), jump64('0f85', sleep.length + 5)])
    const round = Buffer.concat([ask, isFailed, isSized, sleep])
    return Buffer.concat([round, jump64('e9', -(round.length + 5))])
  },
  become: (address) =>
    Buffer.concat([
      // `mov rsi,r12; mov rdx,r13`
      Buffer.from('4c89e6' + '4c89ea', 'hex'),
      X64.call('execve', address),
      // `cmp rax,-2; je +9; cmp rax,-20; je +3; mov r14,rax`
      Buffer.from('4883f8fe' + '7409' + '4883f8ec' + '7403' + '4989c6', 'hex'),
    ]),
  // `test r14,r14; jne` over the code
  unlessRefused: (code) => Buffer.concat([Buffer.from('4d85f6', 'hex'), jump64('0f85', code.length), code]),
}

const ARM64: Encoder = {
  // `add x19,sp,#16; ldr x20,[sp]; add x20,x19,x20,lsl #3; mov x21,#0`
  begin: instructions(0x910043f3, 0xf94003f4, 0x8b140e74, 0xd2800015),
  call: (name, ...args) => {
    const numbers = { write: 64, close: 57, ioctl: 29, nanosleep: 101, execve: 221, exit: 94 }
    const loads = args.map((value, register) => loadArm(register, value))
    return Buffer.concat([...loads, loadArm(8, numbers[name]), instructions(0xd4000001)])
  },
  untilSized: (pauseAt) => {
    // `sub x2,sp,#16`
    const ask = Buffer.concat([instructions(0xd10043e2), ARM64.call('ioctl', 0, TIOCGWINSZ)])
    const sleep = ARM64.call('nanosleep', pauseAt, 0)
    const rest = sleep.length / 4 + 1
    // `tbnz x0,#63` to the end, `ldur w9,[sp,#-16]; cbnz w9` to the end
    const test = instructions(0xb7f80000 | ((rest + 3) << 5), 0xb85f03e9, 0x35000009 | ((rest + 1) << 5))
    const round = Buffer.concat([ask, test, sleep])
    return Buffer.concat([round, instructions(0x14000000 | (-(round.length / 4) & 0x3ffffff))])
  },
  become: (address) =>
    Buffer.concat([
      // `mov x1,x19; mov x2,x20`
      instructions(0xaa1303e1, 0xaa1403e2),
      ARM64.call('execve', address),
      // `cmn x0,#2; b.eq +16; cmn x0,#20; b.eq +8; mov x21,x0`
      instructions(0xb100081f, 0x54000080, 0xb100501f, 0x54000040, 0xaa0003f5),
    ]),
  // `cbnz x21` over the code
  unlessRefused: (code) => Buffer.concat([instructions(0xb5000015 | ((code.length / 4 + 1) << 5)), code]),
}

/** Descriptor from which the starter is executed. */
export const GATE_FD = 3

const MAX_CANDIDATES = 1_024
const MAX_CANDIDATES_BYTES = 64 * 1_024
const MAX_PATH_BYTES = 4_095
const MAX_NAME_BYTES = 255
const MAX_SHOWN_LENGTH = 200
const TIOCGWINSZ = 0x5413
const PAUSE_NS = 200_000n

/** A system call with up to six arguments. `name` is in the table below, or is a number as text. Passes strings and buffers by address. */
export interface Syscall {
  name: string
  args?: readonly (number | bigint | string | Buffer)[]
}

/**
 * Builds a static program that makes the calls in order and exits with the errno of the last one, or 0 if it succeeded. Assembles it here,
 * so that tests need no compiler. `compat` makes the calls as a 32-bit program would (x86 only).
 */
export function buildSyscallProgram(calls: readonly Syscall[], options: { compat?: boolean } = {}): Buffer {
  const encode = process.arch === 'arm64' ? encodeArm : options.compat === true ? encodeCompat : encodeX64
  const assemble = (dataAddress: number): { code: Buffer; data: Buffer } => {
    const data: Buffer[] = []
    let end = dataAddress
    const addData = (value: string | Buffer): bigint => {
      const bytes = Buffer.concat([Buffer.from(value), Buffer.alloc(8)])
      const address = end
      data.push(bytes)
      end += bytes.length
      return BigInt(address)
    }
    const code = calls.map(({ name, args = [] }) => {
      const values = args.map((arg) => (typeof arg === 'string' || Buffer.isBuffer(arg) ? addData(arg) : BigInt(arg)))
      return encode.call(callNumber(name, options.compat === true), values)
    })
    return { code: Buffer.concat([...code, encode.exit]), data: Buffer.concat(data) }
  }
  const { length } = assemble(0).code
  const { code, data } = assemble(BASE + HEADER_BYTES + length)
  return Buffer.concat([elfHeader(HEADER_BYTES + code.length + data.length), code, data])
}

/** Packs a struct of 64-bit numbers, for calls that take their arguments in memory. */
export function words(...values: (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8)
  for (const [place, value] of values.entries()) bytes.writeBigInt64LE(BigInt(value), place * 8)
  return bytes
}

function callNumber(name: string, isCompat: boolean): number {
  if (/^\d/.test(name)) return Number(name)
  const numbers = CALLS[name]
  const number = numbers?.[isCompat ? 2 : process.arch === 'arm64' ? 1 : 0]
  if (number === undefined) throw new Error(`no number for the system call ${name}`)
  return number
}

interface Encoder {
  call(number: number, args: readonly bigint[]): Buffer
  exit: Buffer
}

const encodeX64: Encoder = {
  call: (number, args) => {
    const registers = ['48bf', '48be', '48ba', '49ba', '49b8', '49b9']
    const loads = [...args].map((value, place) => load64(registers[place] ?? '', value))
    return Buffer.concat([...loads, load64('48b8', BigInt(number)), Buffer.from('0f05', 'hex')])
  },
  // edi = eax < 0 ? -eax : 0; exit(edi)
  exit: Buffer.from('89c7f7df85c0780231ffb83c0000000f05', 'hex'),
}

const encodeCompat: Encoder = {
  call: (number, args) => {
    const registers = ['bb', 'b9', 'ba', 'be', 'bf', 'bd']
    const loads = [...args].map((value, place) => load32(registers[place] ?? '', value))
    return Buffer.concat([...loads, load32('b8', BigInt(number)), Buffer.from('cd80', 'hex')])
  },
  exit: encodeX64.exit,
}

const encodeArm: Encoder = {
  call: (number, args) => {
    const loads = [...args].map((value, register) => loadArm(register, value))
    return Buffer.concat([...loads, loadArm(8, BigInt(number)), instructions(0xd4000001)])
  },
  // tbnz w0,#31,+12; mov w0,#0; b +8; neg w0,w0; mov x8,#93; svc #0
  exit: instructions(0x37f80060, 0x52800000, 0x14000002, 0x4b0003e0, 0xd2800ba8, 0xd4000001),
}

function load64(opcode: string, value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value))
  return Buffer.concat([Buffer.from(opcode, 'hex'), bytes])
}

function load32(opcode: string, value: bigint): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(Number(BigInt.asUintN(32, value)))
  return Buffer.concat([Buffer.from(opcode, 'hex'), bytes])
}

function loadArm(register: number, value: bigint): Buffer {
  const part = (place: number): number => Number((BigInt.asUintN(64, value) >> BigInt(16 * place)) & 0xffffn)
  // movz, then movk for each further 16 bits.
  const codes = [0, 1, 2, 3].map(
    (place) => ((place === 0 ? 0xd2800000 : 0xf2800000) | (place << 21) | (part(place) << 5) | register) >>> 0,
  )
  return instructions(...codes)
}

function instructions(...codes: number[]): Buffer {
  const bytes = Buffer.alloc(codes.length * 4)
  for (const [place, code] of codes.entries()) bytes.writeUInt32LE(code, place * 4)
  return bytes
}

function elfHeader(size: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeUInt16LE(2, 16)
  header.writeUInt16LE(process.arch === 'arm64' ? 183 : 62, 18)
  header.writeUInt32LE(1, 20)
  header.writeBigUInt64LE(BigInt(BASE + HEADER_BYTES), 24)
  header.writeBigUInt64LE(64n, 32)
  header.writeUInt16LE(64, 52)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(1, 56)
  // One segment covers the whole file. It is loadable, readable, writable and executable.
  header.writeUInt32LE(1, 64)
  header.writeUInt32LE(7, 68)
  for (const place of [80, 88]) header.writeBigUInt64LE(BigInt(BASE), place)
  for (const place of [96, 104]) header.writeBigUInt64LE(BigInt(size), place)
  header.writeBigUInt64LE(4096n, 112)
  return header
}

const BASE = 0x400000
const HEADER_BYTES = 120

/** System call numbers on x86-64, arm64 and 32-bit x86. */
const CALLS: Readonly<Record<string, readonly [number, number, number]>> = {
  acct: [163, 89, 51],
  add_key: [248, 217, 286],
  bpf: [321, 280, 357],
  chroot: [161, 51, 61],
  clock_settime: [227, 112, 264],
  clone: [56, 220, 120],
  clone3: [435, 435, 435],
  delete_module: [176, 106, 129],
  fanotify_init: [300, 262, 338],
  fchdir: [81, 50, 133],
  chdir: [80, 49, 12],
  fcntl: [72, 25, 55],
  finit_module: [313, 273, 350],
  fsconfig: [431, 431, 431],
  fsmount: [432, 432, 432],
  fsopen: [430, 430, 430],
  fspick: [433, 433, 433],
  getpid: [39, 172, 20],
  init_module: [175, 105, 128],
  io_cancel: [210, 3, 249],
  io_destroy: [207, 1, 246],
  io_getevents: [208, 4, 247],
  io_pgetevents: [333, 292, 385],
  io_setup: [206, 0, 245],
  io_submit: [209, 2, 248],
  ioprio_set: [251, 30, 289],
  ioctl: [16, 29, 54],
  io_uring_setup: [425, 425, 425],
  kcmp: [312, 272, 349],
  kexec_load: [246, 104, 283],
  keyctl: [250, 219, 288],
  kill: [62, 129, 37],
  mkdirat: [258, 34, 296],
  mknodat: [259, 33, 297],
  mount: [165, 40, 21],
  mount_setattr: [442, 442, 442],
  move_mount: [429, 429, 429],
  open_by_handle_at: [304, 265, 342],
  open_tree: [428, 428, 428],
  openat: [257, 56, 295],
  perf_event_open: [298, 241, 336],
  pidfd_getfd: [438, 438, 438],
  pivot_root: [155, 41, 217],
  ppoll: [271, 73, 309],
  process_madvise: [440, 440, 440],
  ptrace: [101, 117, 26],
  quotactl: [179, 60, 131],
  reboot: [169, 142, 88],
  request_key: [249, 218, 287],
  rt_sigprocmask: [14, 135, 175],
  sched_setscheduler: [144, 119, 156],
  sethostname: [170, 161, 74],
  setns: [308, 268, 346],
  setpriority: [141, 140, 97],
  setsockopt: [54, 208, 366],
  settimeofday: [164, 170, 79],
  socket: [41, 198, 359],
  swapon: [167, 224, 87],
  syslog: [103, 116, 103],
  umount2: [166, 39, 52],
  unshare: [272, 97, 310],
  userfaultfd: [323, 282, 374],
}

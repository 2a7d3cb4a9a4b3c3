import { randomUUID } from 'node:crypto'
import fs from 'node:fs'

/**
 * Opens an executable with this content to start it in a box. It is an unlinked file in `workDir`, a filesystem that boxes do not reach.
 * With mode 0711 the kernel lets no process of a box trace it or take its descriptors, because no user of the box can read it.
 */
export function openProgram(workDir: string, content: Buffer, mode: 0o711 | 0o755): number {
  const path = `${workDir}/${randomUUID()}`
  try {
    fs.writeFileSync(path, content, { mode })
    return fs.openSync(path, 'r')
  } finally {
    fs.rmSync(path, { force: true })
  }
}

/**
 * Builds a static program (ELF) of machine code for `machine`. `write` returns the pieces of the code for the addresses of `data`, and
 * makes as much code for any addresses.
 */
export function buildProgram(
  machine: NodeJS.Architecture,
  data: readonly Buffer[],
  write: (addresses: number[]) => Buffer[],
): Buffer {
  const assemble = (base: number): Buffer => {
    let end = base
    const addresses = data.map(({ length }) => {
      end += length
      return end - length
    })
    return Buffer.concat(write(addresses))
  }
  const { length } = assemble(0)
  const code = assemble(BASE + HEADER_BYTES + length)
  const content = Buffer.concat([code, ...data])
  return Buffer.concat([
    buildHeader(machine === 'arm64' ? EM_AARCH64 : EM_X86_64, HEADER_BYTES + content.length),
    content,
  ])
}

/** Encodes an instruction of x86-64 that loads 64 bits into the register of `opcode`. */
export function load64(opcode: string, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return Buffer.concat([Buffer.from(opcode, 'hex'), bytes])
}

/** Encodes a jump of x86-64 by 32 bits, from its end. */
export function jump64(opcode: string, distance: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(distance)
  return Buffer.concat([Buffer.from(opcode, 'hex'), bytes])
}

/** Encodes instructions of arm64 that load 32 bits into a register: movz, then movk for the upper half. */
export function loadArm(register: number, value: number): Buffer {
  const low = 0xd2800000 | ((value & 0xffff) << 5) | register
  const high = 0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register
  return instructions(low, high)
}

/** Encodes instructions of arm64. */
export function instructions(...codes: number[]): Buffer {
  const bytes = Buffer.alloc(codes.length * 4)
  for (const [index, code] of codes.entries()) bytes.writeUInt32LE(code >>> 0, index * 4)
  return bytes
}

// One segment, readable and executable, that holds the whole file, and a stack that is not executable.
function buildHeader(machine: number, size: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeUInt16LE(2, 16)
  header.writeUInt16LE(machine, 18)
  header.writeUInt32LE(1, 20)
  header.writeBigUInt64LE(BigInt(BASE + HEADER_BYTES), 24)
  header.writeBigUInt64LE(64n, 32)
  header.writeUInt16LE(64, 52)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(2, 56)
  header.writeUInt32LE(PT_LOAD, 64)
  header.writeUInt32LE(5, 68)
  for (const offset of [80, 88]) header.writeBigUInt64LE(BigInt(BASE), offset)
  for (const offset of [96, 104]) header.writeBigUInt64LE(BigInt(size), offset)
  header.writeBigUInt64LE(BigInt(PAGE_BYTES), 112)
  header.writeUInt32LE(PT_GNU_STACK, 120)
  header.writeUInt32LE(6, 124)
  return header
}

const EM_X86_64 = 62
const EM_AARCH64 = 183
const PT_LOAD = 1
const PT_GNU_STACK = 0x6474e551
// A multiple of arm64's largest page size.
const BASE = 0x400000
const PAGE_BYTES = 0x10000
const HEADER_BYTES = 64 + 2 * 56

import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ExecOutcome, execute, type OciLab, openOciLab } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall, words } from '../../helpers/boxes/syscall-program.ts'

const [EPERM, EACCES] = [1, 13]
const [SCHED_FIFO, IOPRIO_REALTIME] = [1, 1]
const [SOCK_DGRAM, SOCK_RAW, SOCK_PACKET, SOCK_CLOEXEC] = [2, 3, 10, 0o2000000]
const IPPROTO_ICMP = 1
const [AF_INET, AF_INET6] = [2, 10]

describe('root of a box with its capabilities', () => {
  let lab: OciLab
  let rootPath: string

  beforeAll(async () => {
    lab = await openOciLab()
    const spec = lab.spec('box_rights')
    rootPath = spec.rootPath
    await lab.runtime.start(spec)
  })

  afterAll(() => lab.close())

  const run = (command: string | string[]): Promise<ExecOutcome> => execute(lab.runtime, 'box_rights', command)
  let programs = 0
  const call = async (calls: readonly Syscall[]): Promise<number | string> => {
    const path = `/tmp/program-${programs++}`
    writeFileSync(`${rootPath}${path}`, buildSyscallProgram(calls), { mode: 0o755 })
    const { exitCode, signal } = await run([path])
    return exitCode ?? signal ?? 'unknown'
  }

  test('has no raw socket, though its programs may have the capability', async () => {
    expect((await run('grep CapEff /proc/self/status')).stdout).toBe('CapEff:\t00000000808465fb\n')
    for (const family of [AF_INET, AF_INET6]) {
      for (const type of [SOCK_RAW, SOCK_RAW | SOCK_CLOEXEC, SOCK_RAW | 0x10, 0x100000000n | BigInt(SOCK_RAW)])
        expect(await call([{ name: 'socket', args: [family, type, IPPROTO_ICMP] }])).toBe(EPERM)
    }
  })

  test('has no packet socket by its old name', async () => {
    for (const type of [SOCK_PACKET, SOCK_PACKET | SOCK_CLOEXEC])
      expect(await call([{ name: 'socket', args: [AF_INET, type, 0x300] }])).toBe(EPERM)
  })

  test.each([
    ['IP_TRANSPARENT', AF_INET, 0, 19],
    ['IP_TRANSPARENT of IPv6', AF_INET6, 0, 19],
    ['IPV6_TRANSPARENT', AF_INET6, 41, 75],
  ])('cannot send under the address of another by %s', async (_, family, level, option) => {
    const set = (at: number | bigint, name: number | bigint) =>
      call([
        { name: 'socket', args: [family, SOCK_DGRAM, 0] },
        { name: 'setsockopt', args: [3, at, name, words(1), 4] },
      ])
    expect(await set(level, option)).toBe(EPERM)
    // The kernel reads only 32 bits of both numbers.
    expect(await set(BigInt(level) | (1n << 40n), option)).toBe(EPERM)
    expect(await set(level, BigInt(option) | (1n << 40n))).toBe(EPERM)
  })

  test('sets all other options of sockets (positive control)', async () => {
    const set = (family: number, level: number, option: number, value = 1) =>
      call([
        { name: 'socket', args: [family, SOCK_DGRAM, 0] },
        { name: 'setsockopt', args: [3, level, option, words(value), 4] },
      ])
    // SO_REUSEADDR, SO_SNDBUF, IP_TOS, IP_TTL, IP_FREEBIND, IP_RECVTOS, IP_MULTICAST_TTL, IPV6_V6ONLY, IPV6_TCLASS, IPV6_FREEBIND.
    for (const option of [2, 7, 15]) expect(await set(AF_INET, 1, option)).toBe(0)
    for (const option of [1, 2, 13, 15, 18, 20, 33, 49])
      expect([option, await set(AF_INET, 0, option)]).toEqual([option, 0])
    for (const option of [26, 49, 66, 67, 70, 74, 78])
      expect([option, await set(AF_INET6, 41, option)]).toEqual([option, 0])
  })

  test('takes no priority over others and locks no more memory by its capabilities', async () => {
    expect(await call([{ name: 'setpriority', args: [0, 0, -5] }])).toBe(EACCES)
    expect(await call([{ name: 'setpriority', args: [0, 0, 5] }])).toBe(0)
    expect(await call([{ name: 'sched_setscheduler', args: [0, SCHED_FIFO, words(1)] }])).toBe(EPERM)
    expect(await call([{ name: 'ioprio_set', args: [1, 0, (IOPRIO_REALTIME << 13) | 1] }])).toBe(EPERM)
    const { stdout } = await run('ulimit -l')
    expect(stdout).toMatch(/^\d+\n$/)
    expect((await run('ulimit -l unlimited')).exitCode).not.toBe(0)
  })
})

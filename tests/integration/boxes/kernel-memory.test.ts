import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TERMINALS_PER_BOX } from '../../../agent/drivers/host/terminals.ts'
import { attack, CHARGED, startWithPerl, tcpMib, unreadConnections } from '../../helpers/boxes/hostile.ts'
import { boxCgroupFile, execute, type OciLab, openOciLab, UNBOUNDED } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram } from '../../helpers/boxes/syscall-program.ts'

const RAM_MB = 128
const MIB = 1024 ** 2
const SOCKETS_V1 = 'memory.kmem.tcp.limit_in_bytes'
const ENOSPC = 28
const [AT_FDCWD, O_RDWR] = [-100, 2]

describe('memory of the kernel that a hostile box makes it take', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
  })

  afterAll(() => lab.close())

  test('for connections that are not read is a part of what the box may have', async () => {
    const spec = lab.spec('box_sockets', { ramMb: RAM_MB })
    await startWithPerl(lab.runtime, spec)
    const before = tcpMib()
    const { end } = await attack(lab.runtime, spec.id, unreadConnections(64))
    const held = tcpMib() - before
    await end()
    expect(held).toBeGreaterThan(8)
    expect(held).toBeLessThan(RAM_MB)
    // cgroup version 2 has no separate limit for sockets, which count as memory of the box.
    const limit = (): number => Number(readFileSync(boxCgroupFile(lab, spec.id, 'memory', SOCKETS_V1), 'utf8'))
    if (existsSync(boxCgroupFile(lab, spec.id, 'memory', SOCKETS_V1))) {
      expect(limit()).toBe(32 * MIB)
      await lab.runtime.resize(spec.id, { cpus: 1, ramMb: 512, shmMb: 256, ...UNBOUNDED })
      expect(limit()).toBe(128 * MIB)
      writeFileSync(boxCgroupFile(lab, spec.id, 'memory', SOCKETS_V1), '-1')
      await lab.reopen()
      expect(limit()).toBe(128 * MIB)
    }
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test.each(Object.entries(CHARGED))('for %s is charged to the box', async (name, program) => {
    const spec = lab.spec(`box_${name.replaceAll(/\W/g, '_')}`)
    await startWithPerl(lab.runtime, spec)
    const charged = (): number => {
      const [first, second] = ['memory.usage_in_bytes', 'memory.current']
      const file = boxCgroupFile(lab, spec.id, 'memory', first ?? '')
      const path = existsSync(file) ? file : boxCgroupFile(lab, spec.id, 'memory', second ?? '')
      return Number(readFileSync(path, 'utf8')) / MIB
    }
    const before = charged()
    const { end } = await attack(lab.runtime, spec.id, program)
    const held = charged() - before
    await end()
    expect([name, held > 12]).toEqual([name, true])
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('for terminals is that of a few, and leaves those of others', async () => {
    const spec = lab.spec('box_terminals')
    const open = (count: number): Buffer =>
      buildSyscallProgram(Array(count).fill({ name: 'openat', args: [AT_FDCWD, '/dev/ptmx', O_RDWR] }))
    for (const count of [TERMINALS_PER_BOX, TERMINALS_PER_BOX + 1])
      writeFileSync(`${spec.rootPath}/tmp/open-${count}`, open(count), { mode: 0o755 })
    await lab.runtime.start(spec)
    expect((await execute(lab.runtime, spec.id, [`/tmp/open-${TERMINALS_PER_BOX}`])).exitCode).toBe(0)
    expect((await execute(lab.runtime, spec.id, [`/tmp/open-${TERMINALS_PER_BOX + 1}`])).exitCode).toBe(ENOSPC)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })
})

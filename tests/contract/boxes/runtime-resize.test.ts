import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { setMemoryLimit } from '../../../agent/drivers/host/memory.ts'
import { boxCgroupFile, execute, type OciLab, openOciLab, UNBOUNDED, untilGone } from '../../helpers/boxes/oci-lab.ts'

const MIB = 1024 * 1024

describe('limits of a running box', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_main', { cpus: 1, ramMb: 48 }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const resize = (cpus: number, ramMb: number): Promise<void> =>
    lab.runtime.resize('box_main', { cpus, ramMb, shmMb: Math.floor(ramMb / 2), ...UNBOUNDED })
  const takes = async (mib: number): Promise<boolean> => {
    const command = `head -c ${mib}m /dev/zero | tail -c ${mib}m | wc -c`
    return Number((await execute(lab.runtime, 'box_main', command)).stdout) === mib * MIB
  }
  const limits = (): { cpus: number; ramMb: number; bothMb: number } => {
    const read = (controller: string, file: string): string =>
      readFileSync(boxCgroupFile(lab, 'box_main', controller, file), 'utf8')
    const isFirst = boxCgroupFile(lab, 'box_main', 'memory', '').startsWith('/sys/fs/cgroup/memory')
    const ramMb = Number(read('memory', isFirst ? 'memory.limit_in_bytes' : 'memory.max')) / MIB
    if (!isFirst) return { cpus: Number(read('cpu', 'cpu.max').split(' ')[0]) / 100_000, ramMb, bothMb: ramMb }
    const bothMb = Number(read('memory', 'memory.memsw.limit_in_bytes')) / MIB
    return { cpus: Number(read('cpu', 'cpu.cfs_quota_us')) / 100_000, ramMb, bothMb }
  }

  test('are raised and lowered at once, and hold', async () => {
    expect(await takes(50)).toBe(false)
    await resize(1.5, 512)
    expect(limits()).toEqual({ cpus: 1.5, ramMb: 512, bothMb: 512 })
    expect(await takes(50)).toBe(true)
    await resize(0.25, 40)
    expect(limits()).toEqual({ cpus: 0.25, ramMb: 40, bothMb: 40 })
    expect(await takes(50)).toBe(false)
    await resize(0.25, 40)
    await resize(2, 128)
  })

  test('are not lowered below what is used, and then nothing is changed', async () => {
    const shim = await lab.runtime.exec('box_main', {
      command: ['/bin/sh', '-c', 'head -c 50m /dev/zero >/dev/shm/held; echo ready; read line'],
      cwd: '/',
      environment: {},
      user: null,
    })
    await new Promise((resolve) => shim.stdout.once('data', resolve))
    const before = limits()
    await expect(resize(1, 32)).rejects.toMatchObject({
      code: 'below_use',
      message: expect.stringMatching(/^`ram_mb`: the box uses 5\d MiB of memory, more than the 32 MiB asked for\. /),
    })
    expect(limits()).toEqual(before)
    await execute(lab.runtime, 'box_main', 'rm /dev/shm/held')
    await resize(1, 32)
    expect(limits()).toEqual({ cpus: 1, ramMb: 32, bothMb: 32 })
    shim.stdin.end('\n')
    await shim.exited
    for (const stream of [shim.stdout, shim.stderr]) stream.destroy()
    await resize(2, 128)
  })

  test('are those of /dev/shm as well, which is memory of the box', async () => {
    const run = async (command: string): Promise<string> =>
      (await execute(lab.runtime, 'box_main', command)).stdout.trim()
    const size = (): Promise<string> => run("df -m /dev/shm | awk 'END {print $2}'")
    const spec = lab.spec('box_shared', { ramMb: 96, shmMb: 40 })
    await lab.runtime.start(spec)
    const shared = await execute(lab.runtime, spec.id, "df -m /dev/shm | awk 'END {print $2}'; stat -c %a /dev/shm")
    expect(shared.stdout).toBe('40\n1777\n')
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    const usedMb = async (): Promise<number> =>
      Math.round(((await lab.runtime.usage('box_main'))?.memoryBytes ?? 0) / MIB)
    await lab.runtime.resize('box_main', { cpus: 2, ramMb: 128, shmMb: 100, ...UNBOUNDED })
    expect(await size()).toBe('100')
    const before = await usedMb()
    await run('head -c 60m /dev/zero >/dev/shm/held')
    expect((await usedMb()) - before).toBeGreaterThanOrEqual(55)
    // It keeps its content, and has no space for more.
    await lab.runtime.resize('box_main', { cpus: 2, ramMb: 128, shmMb: 8, ...UNBOUNDED })
    expect([await size(), await run('stat -c %s /dev/shm/held')]).toEqual(['60', String(60 * MIB)])
    expect(await run('echo more 2>&1 >/dev/shm/more | grep -o "No space left"')).toBe('No space left')
    await run('rm /dev/shm/*')
    await lab.runtime.resize('box_main', { cpus: 2, ramMb: 128, shmMb: 8, ...UNBOUNDED })
    expect(await size()).toBe('8')
    await resize(2, 128)
  })

  test('of a box that has taken the size from its /dev/shm are changed all the same', async () => {
    const spec = lab.spec('box_unsized', { ramMb: 96, nesting: true })
    await lab.runtime.start(spec)
    const unsized = 'mount -t tmpfs -o remount,size=0 shm /dev/shm'
    // A pod's /dev/shm belongs to the node's user namespace, so the box's root cannot remount it.
    const refused = 'permission denied'
    const { exitCode, stderr } = await execute(lab.runtime, spec.id, unsized)
    expect(exitCode === 0 || stderr).toEqual(exitCode === 0 ? true : expect.stringContaining(refused))
    await lab.runtime.resize(spec.id, { cpus: 1, ramMb: 64, shmMb: 8, ...UNBOUNDED })
    expect((await execute(lab.runtime, spec.id, 'echo runs')).stdout).toBe('runs\n')
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('of /dev/shm do not make what is beyond the memory of the box', async () => {
    await lab.runtime.resize('box_main', { cpus: 2, ramMb: 40, shmMb: 400, ...UNBOUNDED })
    const fill = await execute(lab.runtime, 'box_main', 'head -c 200m /dev/zero >/dev/shm/fill')
    expect([fill.exitCode, fill.signal]).not.toEqual([0, null])
    expect((await lab.runtime.usage('box_main'))?.memoryBytes).toBeLessThanOrEqual(40 * MIB)
    // The remaining memory is too small for any command.
    await resize(2, 128)
    expect(await execute(lab.runtime, 'box_main', 'rm /dev/shm/fill')).toMatchObject({ exitCode: 0 })
  })

  test('give up caches to get smaller', async () => {
    await execute(lab.runtime, 'box_main', 'head -c 90m /dev/zero >/tmp/cached; sync; cat /tmp/cached >/dev/null')
    await resize(2, 32)
    expect(limits().ramMb).toBe(32)
    expect((await execute(lab.runtime, 'box_main', 'rm /tmp/cached')).exitCode).toBe(0)
  })

  test('of a stopped box are not changed', async () => {
    const changed = lab.runtime.resize('box_none', { cpus: 1, ramMb: 64, shmMb: 32, ...UNBOUNDED })
    await expect(changed).rejects.toMatchObject({ code: 'box_not_running' })
  })
})

describe('the memory limit of a cgroup of version 2', () => {
  const home = mkdtempSync(`${tmpdir()}/boxyard-memory-`)

  afterAll(() => rmSync(home, { recursive: true }))

  test('is not written where processes would have to be killed for it, and caches do not count as use', async () => {
    writeFileSync(`${home}/memory.current`, `${100 * MIB}\n`)
    const stat = `anon ${30 * MIB}\nactive_file ${20 * MIB}\ninactive_file ${40 * MIB}\nslab_reclaimable ${10 * MIB}\n`
    writeFileSync(`${home}/memory.stat`, stat)
    writeFileSync(`${home}/memory.max`, 'before')
    await expect(setMemoryLimit(home, 29, 2)).rejects.toMatchObject({
      code: 'below_use',
      message: expect.stringMatching(/^`ram_mb`: the box uses 30 MiB of memory, more than the 29 MiB asked for\. /),
    })
    expect(readFileSync(`${home}/memory.max`, 'utf8')).toBe('before')
    await setMemoryLimit(home, 30, 2)
    expect(readFileSync(`${home}/memory.max`, 'utf8')).toBe(String(30 * MIB))
  })
})

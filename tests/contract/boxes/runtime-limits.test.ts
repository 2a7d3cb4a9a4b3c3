import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, type OciLab, openOciLab, UNBOUNDED, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { runtimeOfTests } from '../../helpers/pods/cluster-of-tests.ts'
import { initOf, mountTable } from '../../helpers/volumes/lab.ts'

// In a pod, the kubelet chooses the CPUs of a container.
const nprocOf = (cpus: number): string =>
  String(runtimeOfTests() === 'kubernetes' ? availableParallelism() : Math.min(cpus, availableParallelism()))

describe('a box with lxcfs', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab({ usesLxcfs: true })
    await lab.runtime.start(lab.spec('box_small', { cpus: 1, ramMb: 128 }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const run = async (command: string, id = 'box_small'): Promise<string> =>
    (await execute(lab.runtime, id, command)).stdout.trim()
  const totalMib = async (id?: string): Promise<number> =>
    Number(await run(`grep MemTotal /proc/meminfo | tr -dc 0-9`, id)) / 1024
  const lxcfs = (): number => Number(execFileSync('pgrep', ['-f', `^lxcfs .*${lab.home}`], { encoding: 'utf8' }))

  test('sees its memory, processors, swap, load and time', async () => {
    expect(await totalMib()).toBe(128)
    expect(await run('grep -c ^processor /proc/cpuinfo; grep -c "^cpu[0-9]" /proc/stat')).toBe('1\n1')
    expect(await run('nproc')).toBe(nprocOf(1))
    expect(await run('cat /sys/devices/system/cpu/online')).toBe('0')
    expect(await run('wc -l < /proc/swaps')).toBe('1')
    expect(Number(await run('cut -d " " -f 1 /proc/uptime'))).toBeLessThan(60)
    expect(await run('cat /proc/loadavg')).toMatch(/^\d+\.\d\d \d+\.\d\d \d+\.\d\d \d+\/\d+ \d+$/)
    expect(await run('cat /proc/diskstats /proc/partitions')).toBe('')
  })

  test('sees no counter, memory or hardware of the host', async () => {
    const files = 'buddyinfo interrupts softirqs vmstat zoneinfo sys/fs/file-nr sys/fs/inode-state'
    for (const name of files.split(' ')) {
      expect([name, readFileSync(`/proc/${name}`, 'utf8').length]).not.toEqual([name, 0])
      expect([name, await run(`cat /proc/${name}`)]).toEqual([name, ''])
    }
    const directories = '/proc/bus /proc/fs /proc/irq /proc/pressure /sys/class/bdi /sys/devices/system/node'
    expect(await run(`for path in ${directories}; do ls $path 2>/dev/null; done`)).toBe('')
  })

  test('reads no file of /proc that is not known to be harmless', async () => {
    const readable = await run(
      'cd /proc; for name in *; do [ -f $name ] && [ $(head -c 1 $name 2>/dev/null | wc -c) = 1 ] && echo $name; done',
    )
    expect(readable.split('\n').filter((name) => !HARMLESS.has(name))).toEqual([])
  })

  test('sees new limits at once', async () => {
    await lab.runtime.resize('box_small', { cpus: 2, ramMb: 256, shmMb: 128, ...UNBOUNDED })
    const cpus = String(Math.min(2, availableParallelism()))
    expect(await totalMib()).toBe(256)
    expect(await run('nproc; grep -c ^processor /proc/cpuinfo')).toBe(`${nprocOf(2)}\n${cpus}`)
    await lab.runtime.resize('box_small', { cpus: 0.5, ramMb: 128, shmMb: 64, ...UNBOUNDED })
    expect(await totalMib()).toBe(128)
    // On a busy host lxcfs may not find the limits of the reader in time. It then shows the host's processors.
    await untilTrue(async () => (await run('nproc; grep -c ^processor /proc/cpuinfo')) === `${nprocOf(1)}\n1`)
  })

  test('sees its own cgroup and cannot change it', async () => {
    const limit = 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null'
    expect(await run(limit)).toBe(String(128 * 1024 ** 2))
    expect(await run('find /sys/fs/cgroup -name "box_*" -o -name "release_agent"')).toBe('')
    expect(
      await run('for file in $(find /sys/fs/cgroup -type f); do echo 1 2>/dev/null >$file && echo $file; done'),
    ).toBe('')
  })

  test('notices a killed lxcfs only until another runs', async () => {
    for (let round = 0; round < 3; round++) {
      const before = lxcfs()
      process.kill(before, 'SIGKILL')
      await untilTrue(async () => (await totalMib()) === 128)
      expect(lxcfs()).not.toBe(before)
    }
    const mounts = mountTable(await initOf(lab, 'box_small')).filter((line) => line.includes(' fuse.lxcfs '))
    expect(mounts).toHaveLength(7)
  })

  test('keeps its lxcfs over a restart of the agent', async () => {
    const before = lxcfs()
    await lab.reopen()
    expect(lxcfs()).toBe(before)
    expect(await totalMib()).toBe(128)
    await lab.runtime.start(lab.spec('box_other', { ramMb: 64 }))
    expect(await totalMib('box_other')).toBe(64)
  })

  test('is healed by the agent that starts after lxcfs ended', async () => {
    await lab.runtime.close()
    process.kill(lxcfs(), 'SIGKILL')
    await lab.reopen()
    expect(await totalMib()).toBe(128)
    expect(await totalMib('box_other')).toBe(64)
    expect(await lab.runtime.problems()).toEqual([])
  })

  test('sees the host while lxcfs does not start, which is told', async () => {
    const directory = `${lab.home}/run/lxcfs`
    await lab.runtime.close()
    process.kill(lxcfs(), 'SIGKILL')
    rmSync(directory, { recursive: true })
    writeFileSync(directory, '')
    await lab.reopen()
    expect(await totalMib()).toBeGreaterThan(256)
    expect(await lab.runtime.problems()).toMatchObject([
      { code: 'lxcfs_down', evidence: expect.stringMatching(/lxcfs/) },
    ])
    rmSync(directory)
    await untilTrue(async () => (await lab.runtime.problems()).length === 0)
    await untilTrue(async () => (await totalMib()) === 128)
  })

  test('takes no process of a box for lxcfs', async () => {
    const mountPoint = `${lab.home}/run/lxcfs/mnt`
    await run(`mkdir -p ${mountPoint}/proc; echo 1 1 >${mountPoint}/proc/uptime; cp /bin/busybox /bin/lxcfs`)
    const impostor = await lab.runtime.exec('box_small', {
      command: ['/bin/sh', '-c', `while :; do sleep 1; done`, mountPoint],
      cwd: '/',
      environment: {},
      user: null,
    })
    await lab.runtime.close()
    process.kill(lxcfs(), 'SIGKILL')
    await lab.reopen()
    expect(await totalMib('box_other')).toBe(64)
    for (const stream of [impostor.stdin, impostor.stdout, impostor.stderr]) stream.destroy()
  })
})

/** Files that show the box's own limits, or that programs read and that reveal no activity of others. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['cgroups', 'config.gz', 'consoles', 'cpuinfo', 'crypto', 'devices', 'dma', 'execdomains', 'fb', 'filesystems'],
  ...['key-users', 'loadavg', 'meminfo', 'misc', 'mounts', 'stat', 'swaps', 'uptime', 'version', 'version_signature'],
])

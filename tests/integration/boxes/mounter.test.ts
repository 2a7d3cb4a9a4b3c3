import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync, promises, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createMounter } from '../../../agent/lib/mounts/mounter.ts'
import { execute, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { initOf, mountTable, openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

const ROUNDS = 200

describe('the thread that mounts', () => {
  let volumes: VolumeLab
  let source: string

  beforeAll(async () => {
    volumes = await openVolumeLab()
    await volumes.startBox('box_main')
    source = await volumes.makeVolume('vol_main')
  })

  afterAll(async () => {
    await volumes.close()
    await untilGone(volumes.lab)
  })

  const cycle = async (): Promise<void> => {
    await volumes.lab.runtime.attach('box_main', { source, path: '/data', readOnly: false })
    await volumes.lab.runtime.detach('box_main', source)
  }

  test('leaves no descriptor, thread or mount behind', async () => {
    await cycle()
    const count = (kind: 'fd' | 'task'): number => readdirSync(`/proc/self/${kind}`).length
    const init = await initOf(volumes.lab, 'box_main')
    const before = { fds: count('fd'), threads: count('task'), mounts: mountTable(init) }
    for (let round = 0; round < ROUNDS; round++) await cycle()
    // Allows for the slots that the network prepares in the background.
    expect(count('fd')).toBeLessThan(before.fds + ROUNDS / 10)
    expect(count('task')).toBeLessThan(before.threads + ROUNDS / 10)
    expect(mountTable().filter((line) => line.includes('vol_main'))).toEqual([])
    expect(mountTable(init)).toEqual(before.mounts)
  })

  test('leaves the other threads outside the box', async () => {
    const path = `${volumes.lab.home}/only-on-the-host`
    writeFileSync(path, 'host')
    let isDone = false
    let reads = 0
    // Runs until there were enough concurrent reads, which compete for the same CPUs.
    const storm = (async () => {
      for (let round = 0; round < ROUNDS || reads <= ROUNDS; round++) await cycle()
      isDone = true
    })()
    while (!isDone) {
      const texts = await Promise.all(Array.from({ length: 8 }, () => promises.readFile(path, 'utf8')))
      expect(texts.every((text) => text === 'host')).toBe(true)
      reads += texts.length
    }
    await storm
    expect(reads).toBeGreaterThan(ROUNDS)
    const own = readlinkSync('/proc/self/ns/mnt')
    const others = readdirSync('/proc/self/task').map((task) => readlinkSync(`/proc/self/task/${task}/ns/mnt`))
    expect(new Set(others)).toEqual(new Set([own]))
    const roots = readdirSync('/proc/self/task').map((task) => readlinkSync(`/proc/self/task/${task}/root`))
    expect(new Set(roots)).toEqual(new Set(['/']))
  })

  test('is replaced when it cannot return, and its request fails', async () => {
    const mounter = createMounter()
    const known = new Set(namespaceFds())
    await mounter.open()
    const [home] = namespaceFds().filter((fd) => !known.has(fd))
    const pid = await initOf(volumes.lab, 'box_main')
    const locate = (): ReturnType<typeof mounter.run> =>
      mounter.run({ act: 'locate', namespaceFd: openSync(`/proc/${pid}/ns/mnt`, 'r'), path: '/proc' })
    expect(await locate()).toMatchObject({ end: 'taken' })
    const threads = readdirSync('/proc/self/task').length
    // Opens another file at the descriptor that a thread uses to return to its own namespace.
    const taken = Number(home)
    closeSync(taken)
    const fillers: number[] = []
    while (fillers.at(-1) !== taken) fillers.push(openSync('/dev/null', 'r'))
    for (const fd of fillers) if (fd !== taken) closeSync(fd)
    await expect(locate()).rejects.toThrow('mounting failed')
    await untilTrue(() => readdirSync('/proc/self/task').length < threads)
    expect(await locate()).toMatchObject({ end: 'taken' })
    expect(readdirSync('/proc/self/task')).toHaveLength(threads)
    await mounter.close()
    expect(namespaceFds()).toEqual([...known])
  })

  test('is replaced when it hangs, and keeps descriptors that it may still use', async () => {
    const mounter = createMounter({ timeoutMs: 10_000 })
    await mounter.open()
    const pid = await initOf(volumes.lab, 'box_main')
    const mountIds = [rootMountOf(pid)]
    const owner = Number(readFileSync(`/proc/${pid}/uid_map`, 'utf8').trim().split(/\s+/)[1])
    const before = namespaceFds().length
    const make = (path: string): ReturnType<typeof mounter.run> => {
      const [namespaceFd, treeFd] = [openSync(`/proc/${pid}/ns/mnt`, 'r'), openSync('/dev/null', 'r')]
      return mounter.run({ act: 'attach', namespaceFd, treeFd, path, owner, mountIds })
    }
    execFileSync('fsfreeze', ['--freeze', dirname(volumes.pool.path('base'))])
    try {
      await expect(make('/hangs')).rejects.toMatchObject({ cause: { message: 'the mount worker took too long' } })
      expect(namespaceFds()).toHaveLength(before + 1)
    } finally {
      execFileSync('fsfreeze', ['--unfreeze', dirname(volumes.pool.path('base'))])
    }
    await untilTrue(() => namespaceFds().length < before)
    await expect(make('/works')).rejects.toMatchObject({ syscall: 'move_mount', code: 'EINVAL' })
    expect((await execute(volumes.lab.runtime, 'box_main', 'ls -d /works')).stdout).toBe('/works\n')
    await mounter.close()
    rmSync(`${volumes.pool.path('sub_box_main')}/works`, { recursive: true })
  })

  test('gets more time to start with each try, as on a machine that boots slowly', async () => {
    const mounter = createMounter({ timeoutMs: 1 })
    await expect(mounter.open()).rejects.toMatchObject({ cause: { message: 'the mount worker took too long' } })
    await untilSucceeds(() => mounter.open())
    await mounter.close()
  })

  test('gives up a start at any moment of it without an end of the process', () => {
    const { status, signal, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', STARTS], {
      encoding: 'utf8',
    })
    expect([status, signal, stderr]).toEqual([0, null, ''])
  })
})

const STARTS = join(import.meta.dirname, '../../fixtures/mounter-starts.ts')

function namespaceFds(): string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('mnt:')
    } catch {
      return false
    }
  })
}

function rootMountOf(pid: number): number {
  const line = mountTable(pid).find((each) => each.split(' ')[4] === '/')
  return Number(line?.split(' ')[0])
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { DiskBounds } from '../../../agent/ports/boxes/limits.ts'
import {
  boxCgroupFile,
  execute,
  makeBusyboxRoot,
  type OciLab,
  openOciLab,
  UNBOUNDED,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'

const BOX = 'box_bounded'
const PIECE_MB = 2
const SECONDS = 4
/** MB that a box writes between two checks, on a fast disk next to other work. */
const LOOK_MB = 100
/** Less than 10 s, the longest time that a box stays paused. */
const LONGEST_MS = 8_000
/** More than a box with 1 MB/s writes while a test waits. */
const FREE_MB = 250

describe('the disk of a box', () => {
  let lab: OciLab
  let pools: PoolLab
  let root: string

  beforeAll(async () => {
    pools = await openPoolLab(2 * 1024 ** 3)
    await pools.pool.create('root', 'demo')
    root = makeBusyboxRoot(`${pools.pool.path('root')}/root`)
    lab = await openOciLab()
  })

  afterAll(async () => {
    await lab.close()
    await pools.close()
    await untilGone(lab)
  })

  const begin = (bounds: Partial<DiskBounds> = {}) =>
    lab.runtime.start(lab.spec(BOX, { rootPath: root, ...UNBOUNDED, ...bounds }))
  const stop = () => lab.runtime.stop(BOX, { graceMs: 0 })
  const change = (bounds: Partial<DiskBounds>) =>
    lab.runtime.resize(BOX, { cpus: 2, ramMb: 256, shmMb: 128, ...UNBOUNDED, ...bounds })
  /** Repeats a shell command. Returns a function that counts the completed runs. */
  const loop = async (line: string): Promise<() => number> => {
    writeFileSync(`${root}/tmp/done`, '')
    await execute(lab.runtime, BOX, `(while :; do ${line}; printf x >>/tmp/done; done) >/dev/null 2>&1 </dev/null &`)
    return () => readFileSync(`${root}/tmp/done`).length
  }
  const during = async (count: () => number): Promise<number> => {
    const before = count()
    await sleep(SECONDS * 1000)
    return count() - before
  }
  const untilMore = async (count: () => number, times: number): Promise<void> => {
    const before = count()
    await untilTrue(() => count() - before > times)
  }
  const write = `dd if=/dev/urandom of=/tmp/written bs=1M count=${PIECE_MB} conv=fsync`
  /** Writes enough for the longest pause of any box. */
  const overdraw = () => execute(lab.runtime, BOX, 'dd if=/dev/urandom of=/tmp/large bs=1M count=64 conv=fsync')
  const untilPaused = (): Promise<void> => {
    const before = lab.runtime.pausedSeconds()
    return untilTrue(() => lab.runtime.pausedSeconds() > before)
  }
  const isFrozen = (): boolean => {
    const [first, second] = ['freezer.state', 'cgroup.freeze'].map((file) => boxCgroupFile(lab, BOX, 'freezer', file))
    return existsSync(first ?? '')
      ? !/^THAWED/.test(readFileSync(first ?? '', 'utf8'))
      : /1/.test(readFileSync(second ?? '', 'utf8'))
  }

  test('takes what it writes, as much as is allowed from the start, and any amount once it is lifted', async () => {
    await begin({ diskMbps: 10 })
    const count = await loop(write)
    await untilPaused()
    expect((await during(count)) * PIECE_MB).toBeLessThan(10 * (SECONDS + 1) + LOOK_MB)
    await change({})
    await untilMore(count, FREE_MB / PIECE_MB)
    await change({ diskMbps: 1 })
    await untilPaused()
    expect((await during(count)) * PIECE_MB).toBeLessThan(SECONDS + 1 + LOOK_MB)
    await change({})
    await untilMore(count, FREE_MB / PIECE_MB)
    await stop()
  })

  test('is read no more than is allowed', async () => {
    await begin()
    await execute(lab.runtime, BOX, 'dd if=/dev/urandom of=/tmp/source bs=1M count=2 conv=fsync')
    const count = await loop('dd if=/tmp/source of=/dev/null bs=1M iflag=direct')
    await untilMore(count, FREE_MB / PIECE_MB)
    await change({ diskMbps: 10 })
    await untilPaused()
    expect((await during(count)) * PIECE_MB).toBeLessThan(10 * (SECONDS + 1) + 4 * LOOK_MB)
    await stop()
  })

  test('takes no more syncs than operations are allowed', async () => {
    await begin({ diskIops: 50 })
    const count = await loop('dd if=/dev/zero of=/tmp/small bs=4k count=1 conv=fsync')
    await untilPaused()
    expect(await during(count)).toBeLessThan(50 * (SECONDS + 1) + LOOK_MB)
    await stop()
  })

  test('lets a box that stands still start commands, and be frozen, changed and stopped by others', async () => {
    await pools.pool.create('volume', 'demo')
    const volume = { source: pools.pool.path('volume'), path: '/data', readOnly: false }
    const timed = async (act: () => Promise<unknown>): Promise<number> => {
      const begun = performance.now()
      await act()
      return performance.now() - begun
    }
    await begin({ diskMbps: 1 })
    await overdraw()
    await untilPaused()
    const answers = await timed(async () => expect((await execute(lab.runtime, BOX, 'echo on')).stdout).toBe('on\n'))
    const freezes = await timed(() => lab.runtime.frozen(BOX, async () => expect(isFrozen()).toBe(true)))
    await untilPaused()
    const changes = await timed(async () => {
      await lab.runtime.attach(BOX, volume)
      expect(await lab.runtime.mounts(BOX)).toEqual([volume])
      await lab.runtime.detach(BOX, volume.source)
    })
    await overdraw()
    await untilPaused()
    const stops = await timed(stop)
    expect(Math.max(answers, freezes, changes, stops)).toBeLessThan(LONGEST_MS)
    expect(await lab.runtime.list()).toEqual([])
  })

  test('leaves no box standing when the agent stops, and is bounded by the next', async () => {
    await begin({ diskMbps: 1 })
    await overdraw()
    await untilTrue(isFrozen)
    await lab.runtime.close()
    expect(isFrozen()).toBe(false)
    await lab.reopen()
    const count = await loop(write)
    await untilMore(count, FREE_MB / PIECE_MB)
    await change({ diskMbps: 1 })
    await untilPaused()
    await stop()
  })
})

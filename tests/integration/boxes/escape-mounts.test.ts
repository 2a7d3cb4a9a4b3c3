import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall } from '../../helpers/boxes/syscall-program.ts'
import { initOf, mountTable, openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

const AT_FDCWD = -100
const RENAMEAT2 = process.arch === 'arm64' ? '276' : '316'
const RENAME_EXCHANGE = 2
const MS = { rdonly: 1, remount: 32, bind: 4096, move: 8192 }
const MNT_DETACH = 2

describe('a hostile box with data mounts', () => {
  let volumes: VolumeLab
  let source: string

  beforeAll(async () => {
    volumes = await openVolumeLab()
    source = await volumes.makeVolume('vol_main')
  })

  afterAll(async () => {
    await volumes.close()
    await untilGone(volumes.lab)
  })

  const run = (boxId: string, command: string | string[]): ReturnType<typeof execute> =>
    execute(volumes.lab.runtime, boxId, command)

  test('can neither unmount, remount nor move one', async () => {
    const spec = await volumes.startBox('box_tamper', { mounts: [{ source, path: '/data', readOnly: true }] })
    const before = mountTable(await initOf(volumes.lab, spec.id))
    const calls: Syscall[] = [
      { name: 'umount2', args: ['/data', 0] },
      { name: 'umount2', args: ['/data', MNT_DETACH] },
      { name: 'mount', args: ['none', '/data', 0, MS.remount | MS.bind, 0] },
      { name: 'mount', args: ['/data', '/srv', 0, MS.move, 0] },
      { name: 'mount', args: ['/data', '/srv', 0, MS.bind, 0] },
      { name: 'mount_setattr', args: [AT_FDCWD, '/data', 0, Buffer.alloc(32), 32] },
      { name: 'open_tree', args: [AT_FDCWD, '/data', 1] },
      { name: 'move_mount', args: [AT_FDCWD, '/data', AT_FDCWD, '/srv', 0] },
      { name: RENAMEAT2, args: [AT_FDCWD, '/data', AT_FDCWD, '/moved', 0] },
      { name: RENAMEAT2, args: [AT_FDCWD, '/data', AT_FDCWD, '/srv', RENAME_EXCHANGE] },
    ]
    await run(spec.id, 'mkdir -p /srv')
    for (const [index, call] of calls.entries()) {
      writeFileSync(`${spec.rootPath}/tmp/call-${index}`, buildSyscallProgram([call]), { mode: 0o755 })
      expect([call.name, (await run(spec.id, [`/tmp/call-${index}`])).exitCode]).not.toEqual([call.name, 0])
    }
    for (const command of [
      'rm -rf /data',
      'rmdir /data',
      'mv /data /gone',
      'echo x >/data/x',
      'ln /bin/busybox /data/b',
    ])
      expect([command, (await run(spec.id, command)).exitCode]).not.toEqual([command, 0])
    expect(mountTable(await initOf(volumes.lab, spec.id))).toEqual(before)
    expect(readdirSync(source)).toEqual([])
    await volumes.dropBox(spec.id)
  })

  test.each([
    ['a directory above the target', '/swap/a/in/side'],
    ['the target itself', '/swap/a'],
    ['what a missing directory is made in', '/swap/a/new/$/made'],
  ])('gets a mount nowhere but in itself by exchanging %s', async (_, path) => {
    const spec = await volumes.startBox('box_swap')
    const away = `${volumes.lab.home}/away`
    await run(spec.id, 'mkdir -p /swap/a/in/side /else/in/side /swap/a/new')
    const links = ['/', '/else', '/proc', away, '../../../../../..', '/swap/a', '/dev/shm', '/proc/1/root']
    for (const [index, link] of links.entries()) await run(spec.id, `ln -s ${link} /swap/${index}`)
    const swaps = Array.from({ length: 800 }, (__, index): Syscall => {
      // Swaps each link twice, so that the directory returns to its place.
      const link = `/swap/${(index >> 1) % links.length}`
      return { name: RENAMEAT2, args: [AT_FDCWD, '/swap/a', AT_FDCWD, link, RENAME_EXCHANGE] }
    })
    writeFileSync(`${spec.rootPath}/tmp/swap`, buildSyscallProgram(swaps), { mode: 0o755 })
    const attacker = await volumes.lab.runtime.exec(spec.id, {
      command: ['/bin/sh', '-c', 'while :; do /tmp/swap; done'],
      cwd: '/',
      environment: {},
      user: null,
    })
    const places = new Map<string, number>()
    for (let round = 0; round < 200; round++) {
      const place = await tryAttach(spec.id, path.replace('$', String(round)))
      places.set(place, (places.get(place) ?? 0) + 1)
      expect(dataMounts()).toEqual([])
    }
    await attacker.signal('SIGKILL')
    await attacker.exited
    for (const stream of [attacker.stdin, attacker.stdout, attacker.stderr]) stream.destroy()
    // Both outcomes occurred, so the race took place.
    expect(places.get('refused') ?? 0).toBeGreaterThan(0)
    expect([...places.keys()].some((place) => place !== 'refused')).toBe(true)
    for (const place of places.keys())
      expect(place).toMatch(/^(refused|\/swap\/[\da](\/.*)?|\/else(\/.*)?|\/in\/side|\/new\/.*)$/)
    expect(existsSync(away)).toBe(false)
    expect(await volumes.lab.runtime.mounts(spec.id)).toEqual([])
    await volumes.dropBox(spec.id)
  })

  // Attaches, and returns the place of the mount before its detach, or "refused".
  const tryAttach = async (boxId: string, path: string): Promise<string> => {
    try {
      await volumes.lab.runtime.attach(boxId, { source, path, readOnly: false })
    } catch (error) {
      expect(error).toMatchObject({ code: 'path_invalid' })
      return 'refused'
    }
    const [mount] = await volumes.lab.runtime.mounts(boxId)
    await volumes.lab.runtime.detach(boxId, source)
    return mount?.path ?? 'nowhere'
  }

  test('that is stopped meanwhile keeps nothing', async () => {
    const spec = await volumes.startBox('box_stopped')
    for (let round = 0; round < 12; round++) {
      await volumes.lab.runtime.start(spec)
      const storm = attachUntilGone(spec.id)
      const execs = Promise.allSettled([run(spec.id, 'cd /data; sleep 0.01'), run(spec.id, 'ls /data')])
      await sleep(round % 6)
      await volumes.lab.runtime.stop(spec.id, { graceMs: 0 })
      expect(await storm).toMatchObject({ code: 'box_not_running' })
      await execs
      expect(await volumes.lab.runtime.mounts(spec.id)).toEqual([])
      expect(mountTable().filter((line) => line.includes('vol_main'))).toEqual([])
    }
    await volumes.dropBox(spec.id)
  })

  test('whose init ends meanwhile keeps nothing', async () => {
    const spec = await volumes.startBox('box_killed')
    for (let round = 0; round < 12; round++) {
      await volumes.lab.runtime.start(spec)
      const init = await initOf(volumes.lab, spec.id)
      const storm = attachUntilGone(spec.id)
      await sleep(round % 6)
      process.kill(init, 'SIGKILL')
      expect(await storm).toMatchObject({ code: 'box_not_running' })
      await volumes.lab.runtime.stop(spec.id, { graceMs: 0 })
    }
    // Identifies this test's pool. Concurrent tests have volumes with the same name.
    const pool = mountTable().find((line) => line.split(' ')[4] === dirname(source))
    const device = pool?.split(' - ')[1]?.split(' ')[1]
    expect(device).toMatch(/^\/dev\/loop\d+$/)
    const isHeld = (line: string): boolean => line.includes(' /vol_main ') && line.includes(` btrfs ${device} `)
    const pids = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))
    expect(pids.filter((pid) => readTable(pid).split('\n').some(isHeld))).toEqual([])
    await volumes.dropBox(spec.id)
  })

  const attachUntilGone = async (boxId: string): Promise<unknown> => {
    for (;;) {
      try {
        await volumes.lab.runtime.attach(boxId, { source, path: '/data', readOnly: false })
        await volumes.lab.runtime.detach(boxId, source)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'volume_busy')) return error
      }
    }
  }
})

// Reads only this process's table, because the network's slots are mounts as well.
/** Lists volumes mounted outside of boxes. Ignores other mounts, because concurrent tests share this namespace. */
function dataMounts(): string[] {
  return mountTable().filter((line) => line.split(' ')[3]?.startsWith('/vol_'))
}

function readTable(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
  } catch {
    return ''
  }
}

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createBoxMounts } from '../../../agent/drivers/boxes/mounts.ts'
import { readStartTicks } from '../../../agent/drivers/host/handle.ts'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import { execute, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { initOf, mountTable, openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

describe('data mounts of a running box', () => {
  let volumes: VolumeLab
  let rootPath: string
  let source: string

  beforeAll(async () => {
    volumes = await openVolumeLab()
    const spec = await volumes.startBox('box_main')
    rootPath = spec.rootPath
    source = await volumes.makeVolume('vol_main')
  })

  afterAll(async () => {
    await volumes.close()
    await untilGone(volumes.lab)
  })

  const run = (command: string, boxId = 'box_main'): ReturnType<typeof execute> =>
    execute(volumes.lab.runtime, boxId, command)
  const attach = (path: string, changes: { readOnly?: boolean; source?: string } = {}): Promise<void> =>
    volumes.lab.runtime.attach('box_main', { source, path, readOnly: false, ...changes })
  const detach = (from = source): Promise<void> => volumes.lab.runtime.detach('box_main', from)
  const mounts = (boxId = 'box_main'): ReturnType<typeof volumes.lab.runtime.mounts> =>
    volumes.lab.runtime.mounts(boxId)
  const begin = async (script: string): Promise<RunningExec> => {
    const command = ['/bin/sh', '-c', `${script}; echo ready; read line`]
    const running = await volumes.lab.runtime.exec('box_main', { command, cwd: '/', environment: {}, user: null })
    await new Promise((resolve) => running.stdout.once('data', resolve))
    return running
  }
  const finish = async (running: RunningExec): Promise<void> => {
    running.stdin.end('\n')
    running.stderr.resume()
    await running.exited
    for (const stream of [running.stdout, running.stderr]) stream.destroy()
  }

  test('a volume is written by users of the box with their own ids, and is gone when detached', async () => {
    await attach('/srv/data')
    expect(await mounts()).toEqual([{ source, path: '/srv/data', readOnly: false }])
    await run('echo root >/srv/data/a; chown 1000:1000 /srv/data; echo 1 >/srv/data/run; chmod 755 /srv/data/run')
    expect((await execute(volumes.lab.runtime, 'box_main', 'id -u >/srv/data/b', { user: 'app' })).exitCode).toBe(0)
    expect((await run('stat -c %u:%g:%a /srv /srv/data /srv/data/a /srv/data/b')).stdout).toBe(
      '0:0:755\n1000:1000:755\n0:0:644\n1000:1000:644\n',
    )
    expect(readFileSync(`${source}/b`, 'utf8')).toBe('1000\n')
    expect(statSync(`${source}/a`)).toMatchObject({ uid: 0, gid: 0 })
    expect(statSync(`${source}/b`)).toMatchObject({ uid: 1000, gid: 1000 })
    expect((await run('grep " /srv/data " /proc/self/mountinfo')).stdout).toMatch(/ \/srv\/data rw,nosuid,nodev,/)
    await detach()
    expect(await mounts()).toEqual([])
    expect((await run('ls /srv/data')).stdout).toBe('')
    await detach()
  })

  test('missing directories belong to the root user of the box, with any owner of the parent', async () => {
    await run('mkdir -m 555 /home/app/own; chown 1000:1000 /home/app/own')
    await attach('/home/app/own/one/two/three')
    expect((await run('cd /home/app/own; stat -c %u:%g:%a . one one/two')).stdout).toBe(
      '1000:1000:555\n0:0:755\n0:0:755\n',
    )
    expect(statSync(`${rootPath}/home/app/own/one/two/three`)).toMatchObject({ uid: 0, gid: 0, mode: 0o40755 })
    await detach()
  })

  test('a read-only volume cannot be written, and is mounted in two boxes at once', async () => {
    await volumes.startBox('box_other')
    writeFileSync(`${source}/shared`, 'same')
    await attach('/data', { readOnly: true })
    await volumes.lab.runtime.attach('box_other', { source, path: '/elsewhere', readOnly: true })
    for (const [boxId, path] of [
      ['box_main', '/data'],
      ['box_other', '/elsewhere'],
    ] as const) {
      expect(await mounts(boxId)).toEqual([{ source, path, readOnly: true }])
      expect((await run(`cat ${path}/shared`, boxId)).stdout).toBe('same')
      expect((await run(`echo x >${path}/shared`, boxId)).stderr).toMatch(/Read-only file system/)
    }
    await volumes.dropBox('box_other')
    await detach()
  })

  test('an equal mount again is a success, by any name, and another one is refused', async () => {
    const other = await volumes.makeVolume('vol_other')
    await run('mkdir -p /real; ln -s real /alias')
    await attach('/alias/data')
    for (const path of ['/alias/data', '/real/data']) await attach(path)
    await expect(attach('/real/data', { readOnly: true })).rejects.toMatchObject({ code: 'path_invalid' })
    const elsewhere = attach('/elsewhere')
    await expect(elsewhere).rejects.toMatchObject({
      code: 'path_invalid',
      message: expect.stringMatching('/real/data'),
    })
    for (const path of ['/real/data', '/alias/data'])
      await expect(attach(path, { source: other })).rejects.toMatchObject({ code: 'path_invalid' })
    for (const path of ['/real', '/alias'])
      await expect(attach(path, { source: other })).rejects.toMatchObject({
        message: expect.stringMatching('hide .*/real/data'),
      })
    expect(await mounts()).toEqual([{ source, path: '/real/data', readOnly: false }])
    await detach()
    await volumes.pool.destroy('vol_other')
  })

  test('links lead nowhere but to directories of the box', async () => {
    await run('ln -s ../../../../../../etc /x; ln -s /nowhere/../etc/inner /y; mkdir /etc/inner')
    await attach('/x/made/deep')
    expect(await mounts()).toEqual([{ source, path: '/etc/made/deep', readOnly: false }])
    expect(readdirSync(`${rootPath}/etc`)).toContain('made')
    expect(() => statSync('/etc/made')).toThrow(/ENOENT/)
    await detach()
  })

  test.each([
    ['a file', 'echo 1 >/t1', '/t1'],
    ['a path below a file', 'echo 1 >/t2', '/t2/sub'],
    ['a link that leads nowhere', 'ln -s /gone /t3', '/t3'],
    ['a path below a link that leads nowhere', 'ln -s /gone/away /t4', '/t4/sub/sub'],
    ['a loop of links', 'ln -s /t5 /t5', '/t5'],
    ['a link to the root', 'ln -s / /t6', '/t6'],
    ['a link to proc', 'ln -s /proc /t7', '/t7'],
    ['a link into proc', 'ln -s /proc/1 /t8', '/t8/fd'],
    ['a link of the kernel', 'ln -s /proc/1/root/srv /t9', '/t9'],
    ['a missing directory in a link to a memory file system', 'ln -s /dev/shm /ta', '/ta/sub'],
    ['a memory file system', 'true', '/dev/shm'],
    ['sysfs', 'true', '/sys/kernel'],
    ['a relative path', 'true', 'srv'],
    ['a path that climbs', 'true', '/srv/../tmp'],
    ['a path that a zero cuts', 'true', '/srv\0/x'],
    ['a name that is too long', 'true', `/${'n'.repeat(256)}`],
    ['a path that is too long', 'true', '/n'.repeat(3000)],
  ])('%s is refused', async (_, prepare, path) => {
    await run(prepare)
    const before = mountTable(await initOf(volumes.lab, 'box_main'))
    await expect(attach(path)).rejects.toMatchObject({ code: 'path_invalid' })
    expect(mountTable(await initOf(volumes.lab, 'box_main'))).toEqual(before)
    expect((await run('ls /dev/shm /gone')).stdout).toBe('/dev/shm:\n')
  })

  test('a full disk is an error when a directory must be made', async () => {
    const spec = await volumes.startBox('box_full')
    await volumes.pool.setQuota('sub_box_full', 1)
    const mount = { source, path: '/a/b', readOnly: false }
    await expect(volumes.lab.runtime.attach(spec.id, mount)).rejects.toMatchObject({ code: 'storage_full' })
    await volumes.lab.runtime.attach(spec.id, { ...mount, path: '/tmp' })
    await volumes.dropBox(spec.id)
  })

  test('a volume in use stays, and the error names its users', async () => {
    await attach('/data')
    for (const script of ['cd /data', 'exec 3>/data/file', 'cp /bin/busybox /data; cd /data/.; exec 4</data/busybox']) {
      const shell = await begin(script)
      const pid = await shell.process
      const message = `Processes of the box use the volume at /data: ${pid} (sh). End them first.`
      await expect(detach()).rejects.toMatchObject({ code: 'volume_busy', message })
      expect(await mounts()).toHaveLength(1)
      await finish(shell)
    }
    const tool = await begin(
      '/data/busybox sleep 600 & until read -r it </proc/$!/comm && [ "$it" = busybox ]; do :; done',
    )
    const refusal = await detach().catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'volume_busy',
      message: expect.stringMatching(/: \d+ \(busybox\)\. End them first\.$/),
    })
    const [user] = /\d+(?= \(busybox\))/.exec(String(refusal)) ?? []
    await finish(tool)
    // Kills by pid. killall ends all processes that run a program named busybox, including the shell that waits.
    await run(`kill ${user}; while kill -0 ${user}; do :; done`)
    await detach()
    expect(await mounts()).toEqual([])
  })

  test('a volume that others use is not detached before the one mounted inside it', async () => {
    const inner = await volumes.makeVolume('vol_inner')
    await attach('/data')
    await attach('/data/in side', { source: inner })
    await expect(detach()).rejects.toMatchObject({
      code: 'volume_busy',
      message: expect.stringMatching('/data/in side'),
    })
    await detach(inner)
    await detach()
    await attach('/ro', { readOnly: true })
    await expect(attach('/ro/missing', { source: inner })).rejects.toMatchObject({ code: 'path_invalid' })
    await attach('/ro/in side', { source: inner })
    expect((await run('echo 1 >"/ro/in side/file"')).exitCode).toBe(0)
    await detach(inner)
    await detach()
    await volumes.pool.destroy('vol_inner')
  })

  test('a mount that moved with a directory above it is listed and detached at its new path', async () => {
    await attach('/up/data')
    await run('mv /up "/up and away"; touch "/up and away/data/x"')
    expect(await mounts()).toEqual([{ source, path: '/up and away/data', readOnly: false }])
    await detach()
    // A name that is not valid UTF-8.
    await attach('/up/data')
    await run('mv /up "$(printf \'/\\377\\134\\012x\')"')
    expect((await mounts()).map(({ path }) => path)).toEqual(['/\ufffd\\\nx/data'])
    await detach()
    expect(await mounts()).toEqual([])
  })

  test('a box starts with its mounts, in their order, and does not start without one', async () => {
    const [outer, inner] = [await volumes.makeVolume('vol_outer'), await volumes.makeVolume('vol_nested')]
    const list = [
      { source: outer, path: '/srv', readOnly: false },
      { source: inner, path: '/srv/deep/er', readOnly: false },
    ]
    const spec = await volumes.startBox('box_mounts', { mounts: list })
    expect(await mounts(spec.id)).toEqual(list)
    await run('echo kept >/srv/deep/er/file; echo kept >/srv/file', spec.id)
    await volumes.lab.runtime.stop(spec.id, { graceMs: 0 })
    expect(await mounts(spec.id)).toEqual([])
    expect(readFileSync(`${inner}/file`, 'utf8')).toBe('kept\n')
    symlinkSync('/proc', `${spec.rootPath}/out`)
    const wrong = { ...spec, mounts: [...list, { source, path: '/out', readOnly: false }] }
    await expect(volumes.lab.runtime.start(wrong)).rejects.toMatchObject({
      code: 'path_invalid',
      message: "/out: it does not lead to a directory on the box's disk.",
    })
    expect((await volumes.lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
    await volumes.lab.runtime.start(spec)
    expect((await run('cat /srv/deep/er/file', spec.id)).stdout).toBe('kept\n')
    await volumes.dropBox(spec.id, 'vol_nested', 'vol_outer')
    expect(mountTable().filter((line) => /vol_(nested|outer)/.test(line))).toEqual([])
  })

  test('mounts outlive the agent, and the next one lists and detaches them', async () => {
    await attach('/data')
    await volumes.lab.reopen()
    expect(await mounts()).toEqual([{ source, path: '/data', readOnly: false }])
    await attach('/data')
    await run('echo still >/data/file')
    await detach()
    await attach('/data/anew', { readOnly: true })
    expect((await run('cat /data/anew/file')).stdout).toBe('still\n')
    await detach()
  })

  test('a stopped box takes no mount, loses none and has none', async () => {
    const { runtime } = volumes.lab
    const mount = { source, path: '/data', readOnly: false }
    await expect(runtime.attach('box_none', mount)).rejects.toMatchObject({ code: 'box_not_running' })
    await expect(runtime.detach('box_none', source)).rejects.toMatchObject({ code: 'box_not_running' })
    expect(await runtime.mounts('box_none')).toEqual([])
  })

  test('a box whose init is exiting counts as stopped', async () => {
    // A killed init remains without namespaces while its pid namespace has a process whose outside parent cannot reap it.
    const outer = spawn('unshare', ['--pid', '--fork', 'sleep', '60'], { stdio: 'ignore' })
    const children = (pid: number | undefined): number[] =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    await untilTrue(() => children(outer.pid).length === 1)
    const [init = 0] = children(outer.pid)
    const inner = spawn('nsenter', ['--target', String(init), '--pid', 'sleep', '60'], { stdio: 'ignore' })
    const boxMounts = createBoxMounts(`${volumes.lab.home}/locking`)
    try {
      await untilTrue(() => children(inner.pid).length === 1)
      inner.kill('SIGSTOP')
      await untilTrue(() => readFileSync(`/proc/${inner.pid}/stat`, 'utf8').includes(') T '))
      const box = { pid: init, startTicks: readStartTicks(init) ?? 0, idBase: 0, rootPath }
      process.kill(init, 'SIGKILL')
      await untilTrue(() => !existsSync(`/proc/${init}/ns/mnt`))
      expect(readStartTicks(init)).toBe(box.startTicks)
      const attached = boxMounts.attach(box, { source, path: '/data', readOnly: false })
      await expect(attached).rejects.toMatchObject({ code: 'box_not_running' })
      expect(boxMounts.list(box)).toEqual([])
    } finally {
      inner.kill('SIGKILL')
      outer.kill('SIGKILL')
      await boxMounts.close()
    }
  })

  test('a tree that is not there is an error and mounts nothing', async () => {
    mkdirSync(`${source}/gone`, { recursive: true })
    await expect(attach('/data', { source: `${source}_none` })).rejects.toThrow()
    expect(await mounts()).toEqual([])
  })
})

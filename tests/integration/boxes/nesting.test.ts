import { readFileSync, readlinkSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import { type ExecOutcome, execute, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { initOf, mountTable, openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

const OVERLAY = `mkdir -p /c/l /c/u /c/w /c/m && mount -t overlay -o userxattr,lowerdir=/bin,upperdir=/c/u,workdir=/c/w none /c/m`

describe('a box with nesting', () => {
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

  const start = (id: string, changes = {}) => volumes.startBox(id, { nesting: true, ...changes })
  const run = (id: string, command: string, user: string | null = null): Promise<ExecOutcome> =>
    execute(volumes.lab.runtime, id, command, { user })
  const attach = (id: string, changes = {}) =>
    volumes.lab.runtime.attach(id, { source, path: '/data', readOnly: false, ...changes })
  const detach = (id: string) => volumes.lab.runtime.detach(id, source)
  /** Starts a command that runs until its input ends, and waits for its first line. */
  const begin = async (id: string, script: string, user: string | null = null): Promise<RunningExec> => {
    const command = ['/bin/sh', '-c', script]
    const running = await volumes.lab.runtime.exec(id, { command, cwd: '/', environment: {}, user })
    const stderr = text(running.stderr)
    const failed = running.exited.then(async () => Promise.reject(new Error(await stderr)))
    await Promise.race([new Promise((resolve) => running.stdout.once('data', resolve)), failed])
    failed.catch(() => undefined)
    return running
  }
  const finish = async (running: RunningExec): Promise<void> => {
    running.stdin.end()
    running.stdout.resume()
    await running.exited
  }
  /** Makes a container as a runtime does, with namespaces and an overlay as its root. */
  const container = (id: string) =>
    begin(
      id,
      `${OVERLAY} && exec unshare -mpf sh -c 'mount --make-rprivate /; mkdir -p /c/m/old; cd /c/m; pivot_root . old; umount -l /old; echo up; read line'`,
    )

  test('is snapshot, detached from, adopted and stopped while a container runs in it, and leaves nothing', async () => {
    const spec = await start('box_life')
    await attach('box_life')
    const running = await container('box_life')
    await run('box_life', 'echo kept >/c/u/kept; echo row >/data/row')
    const { pool, lab } = volumes
    await lab.runtime.frozen('box_life', async () => {
      await pool.snapshot({ source: 'sub_box_life', name: 'snap', project: 'demo', isReadOnly: true, quotaBytes: null })
    })
    expect(readFileSync(`${pool.path('snap')}/c/u/kept`, 'utf8')).toBe('kept\n')
    await detach('box_life')
    expect((await run('box_life', 'ls /data')).stdout).toBe('')
    await attach('box_life')
    // Imitates a kill of the agent. Processes outside of the shim end, and the box keeps running.
    const init = await initOf(lab, 'box_life')
    await lab.reopen()
    for (const stream of [running.stdin, running.stdout]) stream.destroy()
    expect(await initOf(lab, 'box_life')).toBe(init)
    expect((await run('box_life', 'cat /data/row; unshare -n true && echo nests')).stdout).toBe('row\nnests\n')
    const again = await begin('box_life', "exec unshare -mpf sh -c 'echo up; read line'")
    await lab.runtime.stop('box_life', { graceMs: 0 })
    await again.exited
    for (const name of ['snap', 'sub_box_life']) await pool.destroy(name)
    expect(mountTable().filter((line) => line.includes(spec.id))).toEqual([])
  })

  test('gives up a volume that a user’s containers follow, and not one that they hold', async () => {
    await start('box_users')
    // Imitates the namespaces of rootless containers, which stay even if nothing runs in them.
    const follower = await begin('box_users', "exec unshare -Urm sh -c 'echo up; read line'", 'app')
    await attach('box_users')
    const holder = await begin(
      'box_users',
      "exec unshare -Urm sh -c 'mount --make-rprivate / && echo up; read line'",
      'app',
    )
    await expect(detach('box_users')).rejects.toMatchObject({
      code: 'volume_busy',
      message: expect.stringMatching(/^Containers in the box have the volume mounted: \d+ \(sh\)\. End them first\.$/),
    })
    await finish(holder)
    await detach('box_users')
    expect(await volumes.lab.runtime.mounts('box_users')).toEqual([])
    expect((await run('box_users', 'grep vol_main /proc/[0-9]*/mountinfo')).stdout).toBe('')
    await finish(follower)
    await volumes.dropBox('box_users')
  })

  test('does not give up a volume that is a layer, that is mounted over, or whose files are open', async () => {
    await start('box_layers')
    const uses: [string, string, RegExp][] = [
      [
        'mkdir /data/u /data/w /m; mount -t overlay -o userxattr,lowerdir=/bin,upperdir=/data/u,workdir=/data/w none /m',
        'umount /m',
        /overlay at \/m .* layers in the volume/,
      ],
      ['mkdir /data/d; mount -t tmpfs none /data/d', 'umount /data/d', /mounted inside it, at \/data\/d/],
      ['sh -c "exec 3>/data/open; sleep 60" >/dev/null 2>&1 & sleep 0.2', 'killall sleep', /use the volume: \d+/],
    ]
    await attach('box_layers')
    for (const [use, undo, message] of uses) {
      await run('box_layers', use)
      await expect(detach('box_layers')).rejects.toMatchObject({
        code: 'volume_busy',
        message: expect.stringMatching(message),
      })
      await run('box_layers', undo)
    }
    await run('box_layers', 'mkdir -p /elsewhere; mount --bind /data/d /elsewhere')
    await detach('box_layers')
    expect((await run('box_layers', 'ls -A /elsewhere /data')).stdout).toBe('/data:\n\n/elsewhere:\n')
    await volumes.dropBox('box_layers')
  })

  test('keeps the quota of its disk in containers', async () => {
    await start('box_quota')
    const fill = `${OVERLAY}; unshare -Urm dd if=/dev/urandom of=/c/m/big bs=1M count=90 2>&1 | grep -o "quota exceeded"`
    expect((await run('box_quota', fill)).stdout).toMatch(/quota exceeded/)
    await volumes.dropBox('box_quota')
  })

  test('harms only itself by what it mounts', async () => {
    const { runtime } = volumes.lab
    await start('box_wild')
    await attach('box_wild', { readOnly: true })
    // More mounts than the agent reads, a false terminal, and another root for all processes, init included.
    await run('box_wild', 'mkdir /n; mount -t tmpfs none /n; mount --make-private /n')
    // Each line doubles the number of mounts.
    await run('box_wild', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do mkdir /n/$i; mount --rbind /n /n/$i; done')
    const begun = performance.now()
    expect((await runtime.mounts('box_wild')).map(({ path }) => path)).toEqual(['/data'])
    expect(performance.now() - begun).toBeLessThan(10_000)
    await expect(detach('box_wild')).rejects.toMatchObject({ code: 'volume_busy' })
    await run('box_wild', 'mount -t tmpfs none /dev/pts; mkfifo /dev/pts/ptmx')
    const console = runtime.exec('box_wild', {
      ...{ command: ['/bin/sh'], cwd: '/', environment: {}, user: null },
      terminal: { cols: 80, rows: 24 },
    })
    expect((await (await console).exited).exitCode).not.toBe(0)
    await run(
      'box_wild',
      'mkdir -p /r; mount -t tmpfs none /r; mount --make-rprivate /; cp -r /bin /r; mkdir /r/old; cd /r; pivot_root . old; umount -l /old',
    )
    await run('box_wild', 'true')
    await runtime.mounts('box_wild')
    await volumes.dropBox('box_wild')
  })

  test('has a network namespace that no other box gets after it', async () => {
    await start('box_net', { project: 'own' })
    const of = async (id: string): Promise<string> => readlinkSync(`/proc/${await initOf(volumes.lab, id)}/ns/net`)
    const before = await of('box_net')
    await run(
      'box_net',
      'ip link add br0 type bridge; ip link del eth0; ip link; echo 1 >/proc/sys/net/ipv4/ip_forward',
    )
    await volumes.dropBox('box_net')
    await volumes.startBox('box_next', { project: 'own' })
    expect(await of('box_next')).not.toBe(before)
    expect((await run('box_next', 'ls /sys/class/net | tr "\\n" " "')).stdout).toBe('eth0 lo ')
    await volumes.dropBox('box_next')
  })
})

import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { BoxExit } from '../../../agent/ports/boxes/runtime.ts'
import {
  boxCgroupFile,
  execCgroups,
  execute,
  type OciLab,
  openOciLab,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'

describe('the runtime', () => {
  let lab: OciLab
  const run: (command: string | string[], changes?: Parameters<typeof execute>[3]) => ReturnType<typeof execute> = (
    command,
    changes,
  ) => execute(lab.runtime, 'box_main', command, changes)

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_main', { hostname: 'main-host' }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('a started box is listed as running with its init', async () => {
    const [box] = await lab.runtime.list()
    expect(box).toMatchObject({ id: 'box_main', isRunning: true })
    const processes = readFileSync(boxCgroupFile(lab, 'box_main', 'pids', 'cgroup.procs'), 'utf8')
    expect(processes).toMatch(new RegExp(`^${box?.pid}$`, 'm'))
  })

  test('starting a running box leaves it as it is', async () => {
    const [box] = await lab.runtime.list()
    expect(await lab.runtime.start(lab.spec('box_main'))).toEqual(box)
  })

  test('the machine id is mounted and leaves nothing in the root, which has the host name and the resolvers', async () => {
    expect((await run('hostname; cat /etc/hostname /etc/machine-id')).stdout).toBe(
      'main-host\nmain-host\n0123456789abcdef0123456789abcdef\n',
    )
    expect((await run('echo x >/etc/machine-id')).exitCode).not.toBe(0)
    const inRoot = (name: string): string => readFileSync(`${lab.home}/roots/box_main/etc/${name}`, 'utf8')
    expect(inRoot('machine-id')).toBe('')
    expect(inRoot('hostname')).toBe('main-host\n')
    expect(inRoot('resolv.conf')).toBe((await run('cat /etc/resolv.conf')).stdout)
    for (const name of ['run', 'dev', 'proc', 'sys'])
      expect(readdirSync(`${lab.home}/roots/box_main/${name}`)).toEqual([])
  })

  test('limits of memory, processes and processor time hold', async () => {
    const spec = lab.spec('box_small', { ramMb: 32, pidsMax: 32, cpus: 0.5 })
    await lab.runtime.start(spec)
    expect(await execute(lab.runtime, spec.id, ['tail', '/dev/zero'])).toMatchObject({
      signal: 'SIGKILL',
      outOfMemory: true,
    })
    expect(await execute(lab.runtime, spec.id, 'tail /dev/zero; exit $?')).toMatchObject({
      exitCode: 137,
      outOfMemory: true,
    })
    expect(
      (await execute(lab.runtime, spec.id, 'i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done')).stderr,
    ).toMatch(/fork/)
    // On a busy machine, the command gets no more than its half anyway, and is not throttled at first.
    const busy = lab.runtime.exec(spec.id, {
      command: ['/bin/sh', '-c', 'while :; do :; done'],
      cwd: '/',
      environment: {},
      user: null,
    })
    await untilTrue(() => {
      const stat = readFileSync(boxCgroupFile(lab, spec.id, 'cpu', 'cpu.stat'), 'utf8')
      return Number(/nr_throttled (\d+)/.exec(stat)?.[1]) > 0
    })
    await (await busy).signal('SIGKILL')
    expect((await lab.runtime.list()).find(({ id }) => id === spec.id)).toMatchObject({ isRunning: true })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('stop sends a polite signal, waits, and leaves nothing', async () => {
    const spec = lab.spec('box_polite')
    await lab.runtime.start(spec)
    const running = await lab.runtime.exec(spec.id, {
      command: ['/bin/sh', '-c', 'trap "echo bye >/tmp/said; exit 0" TERM; echo up; while :; do sleep 0.02; done'],
      cwd: '/',
      environment: {},
      user: null,
    })
    await new Promise((resolve) => running.stdout.once('data', resolve))
    await lab.runtime.stop(spec.id, { graceMs: 5000 })
    expect(readFileSync(`${spec.rootPath}/tmp/said`, 'utf8')).toBe('bye\n')
    expect(await running.exited).toMatchObject({ exitCode: 0 })
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
    expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await expect(execute(lab.runtime, spec.id, 'true')).rejects.toMatchObject({ code: 'box_not_running' })
  })

  test('stop kills the rest when the grace is over or cancelled', async () => {
    const spec = lab.spec('box_deaf')
    for (const end of [{ graceMs: 100 }, { graceMs: 60_000, signal: AbortSignal.timeout(100) }]) {
      await lab.runtime.start(spec)
      const running = await lab.runtime.exec(spec.id, {
        command: ['/bin/sh', '-c', 'trap "" TERM; echo up; while :; do sleep 1; done'],
        cwd: '/',
        environment: {},
        user: null,
      })
      await new Promise((resolve) => running.stdout.once('data', resolve))
      const begun = performance.now()
      await lab.runtime.stop(spec.id, end)
      expect(performance.now() - begun).toBeLessThan(20_000)
      expect(await running.exited).toMatchObject({ signal: 'SIGKILL', outOfMemory: false })
      for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
    }
  })

  test('a fork bomb is stopped', async () => {
    const spec = lab.spec('box_bomb', { pidsMax: 64 })
    await lab.runtime.start(spec)
    const bomb = 'b() { b | b & }; trap "" TERM; while :; do b; done'
    const running = await lab.runtime.exec(spec.id, {
      command: ['/bin/sh', '-c', bomb],
      cwd: '/',
      environment: {},
      user: null,
    })
    running.stderr.resume()
    await sleep(300)
    await lab.runtime.stop(spec.id, { graceMs: 50 })
    await running.exited
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  })

  test('the exit of an init is reported once, a stop is not', async () => {
    const exits: BoxExit[] = []
    lab.runtime.onExit((exit) => exits.push(exit))
    const spec = lab.spec('box_exits')
    await lab.runtime.start(spec)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await lab.runtime.start(spec)
    // Repeats the signal, because the kernel drops signals that an init does not handle yet.
    await execute(lab.runtime, spec.id, 'kill -9 1; while kill -TERM 1; do sleep 0.1; done')
    await untilTrue(() => exits.length > 0)
    expect(exits).toEqual([{ id: spec.id, outOfMemory: false, isLost: false }])
    expect((await lab.runtime.list()).find(({ id }) => id === spec.id)).toEqual({
      id: spec.id,
      isRunning: false,
      pid: null,
    })
    expect((await lab.runtime.start(spec)).isRunning).toBe(true)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('a start that fails leaves nothing', async () => {
    const spec = lab.spec('box_broken', { rootPath: `${lab.home}/roots/none` })
    await expect(lab.runtime.start(spec)).rejects.toThrow()
    expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
    expect(execCgroups(lab, spec.id)).toEqual([])
  })

  test('a box whose handle was cut short by a crash starts, and is adopted by the next agent', async () => {
    const spec = lab.spec('box_cut')
    writeFileSync(`${lab.home}/run/boxes/${spec.id}.json`, '')
    expect(await lab.runtime.list()).toContainEqual({ id: spec.id, isRunning: false, pid: null })
    const { pid } = await lab.runtime.start(spec)
    await lab.reopen()
    expect(await lab.runtime.list()).toContainEqual({ id: spec.id, isRunning: true, pid })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('a root without mount points, or with links in their place, starts and the host is not touched', async () => {
    const outside = `${lab.home}/outside`
    mkdirSync(outside)
    const spec = lab.spec('box_hostile')
    for (const name of ['proc', 'dev', 'run', 'sys']) rmSync(`${spec.rootPath}/${name}`, { recursive: true })
    symlinkSync(outside, `${spec.rootPath}/run`)
    writeFileSync(`${spec.rootPath}/dev`, 'a file')
    symlinkSync(`${outside}/hosts`, `${spec.rootPath}/etc/hosts`)
    symlinkSync('/proc/self/root/tmp/x', `${spec.rootPath}/etc/resolv.conf`)
    mkdirSync(`${spec.rootPath}/etc/hostname`)
    await lab.runtime.start(spec)
    const outcome = await execute(lab.runtime, spec.id, 'cat /etc/hosts; test -d /etc/hostname && ls /dev/null')
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' })
    expect(outcome.stdout).toMatch(/box.hostile/)
    expect(readdirSync(outside)).toEqual([])
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('a restarted agent adopts running boxes, ends attached commands, and keeps the rest', async () => {
    const spec = lab.spec('box_kept')
    const { pid } = await lab.runtime.start(spec)
    await execute(lab.runtime, spec.id, 'sleep 600 >/dev/null 2>&1 </dev/null &')
    await untilTrue(() => execCgroups(lab, spec.id).length === 0)
    const orphan = await lab.runtime.exec(spec.id, { command: ['sleep', '500'], cwd: '/', environment: {}, user: null })
    await lab.reopen()
    expect((await lab.runtime.list()).find(({ id }) => id === spec.id)).toEqual({ id: spec.id, isRunning: true, pid })
    expect((await execute(lab.runtime, spec.id, 'ps -o args | grep -qx "sleep 600"')).exitCode).toBe(0)
    await untilTrue(
      async () => (await execute(lab.runtime, spec.id, 'ps -o args | grep -qx "sleep 500"')).exitCode === 1,
    )
    for (const stream of [orphan.stdin, orphan.stdout, orphan.stderr]) stream.destroy()
    const exits: BoxExit[] = []
    lab.runtime.onExit((exit) => exits.push(exit))
    process.kill(pid ?? 0, 'SIGKILL')
    await untilTrue(() => exits.length > 0)
    expect(exits[0]?.id).toBe(spec.id)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('a box whose network cannot be adopted does not keep others from being adopted', async () => {
    const other = await openOciLab()
    const [lost, kept] = [other.spec('box_lost'), other.spec('box_whole')]
    for (const spec of [lost, kept]) await other.runtime.start(spec)
    const options = await other.letGo()
    const note = `${options.home}/run/boxes/${lost.id}.json`
    writeFileSync(note, JSON.stringify({ ...JSON.parse(readFileSync(note, 'utf8')), slotIndex: 4000 }))
    const next = await openOciLab(options)
    try {
      for (const { id } of [lost, kept]) expect((await execute(next.runtime, id, ['hostname'])).exitCode).toBe(0)
      await next.runtime.stop(lost.id, { graceMs: 0 })
      await next.runtime.start(lost)
      expect((await execute(next.runtime, lost.id, ['hostname'])).exitCode).toBe(0)
    } finally {
      await next.close()
    }
    await untilGone(next)
  })

  test('ten starts at once all succeed', async () => {
    const specs = Array.from({ length: 10 }, (_, i) => lab.spec(`box_crowd${i}`))
    await Promise.all(specs.map((spec) => lab.runtime.start(spec)))
    const outcomes = await Promise.all(specs.map(({ id }) => execute(lab.runtime, id, ['hostname'])))
    expect(outcomes.map(({ stdout }) => stdout.trim())).toEqual(specs.map(({ hostname }) => hostname))
    await Promise.all(specs.map(({ id }) => lab.runtime.stop(id, { graceMs: 0 })))
  })

  test.each(['cgroup', 'note', 'stage'])(
    'leftovers of an interrupted start are found and replaced: %s',
    async (part) => {
      const spec = lab.spec(`box_cut_${part}`)
      const note = `${lab.home}/run/boxes/${spec.id}.json`
      const { pid } = part === 'cgroup' ? { pid: null } : await lab.runtime.start(spec)
      if (part === 'cgroup') mkdirSync(boxCgroupFile(lab, spec.id, 'memory', ''))
      else if (part === 'note') writeFileSync(note, '')
      else rmSync(note)
      const found = (await lab.runtime.list()).find(({ id }) => id === spec.id)
      expect(found).toEqual({ id: spec.id, isRunning: false, pid: null })
      const again = await lab.runtime.start(spec)
      expect(again.pid).not.toBe(pid)
      expect((await execute(lab.runtime, spec.id, ['hostname'])).exitCode).toBe(0)
      await lab.runtime.stop(spec.id, { graceMs: 0 })
      expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
    },
  )
})

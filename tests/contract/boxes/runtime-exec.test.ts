import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readStartTicks } from '../../../agent/drivers/host/handle.ts'
import { execCgroups, execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall, words } from '../../helpers/boxes/syscall-program.ts'

const SIGIO = 29
const SIGSTOP = 19
const PTRACE_TRACEME = 0
const F_SETLEASE = 1024
const F_WRLCK = 1

describe('a command in a box', () => {
  let lab: OciLab
  const run: (command: string | string[], changes?: Parameters<typeof execute>[3]) => ReturnType<typeof execute> = (
    command,
    changes,
  ) => execute(lab.runtime, 'box_main', command, changes)

  // Zombies that other test files left in this process.
  let zombiesBefore: ReadonlySet<string>

  beforeAll(async () => {
    zombiesBefore = new Set(zombies())
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_main', { hostname: 'main-host' }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('a command gets its arguments, environment, directory and input, and returns its output', async () => {
    const command = 'pwd; echo "$GREETING $HOME $USER"; cat; echo bad >&2; exit 7'
    const outcome = await run(command, { cwd: '/tmp', environment: { GREETING: 'hi there' }, input: 'in\n' })
    expect(outcome).toEqual({
      exitCode: 7,
      signal: null,
      outOfMemory: false,
      stdout: '/tmp\nhi there /root root\nin\n',
      stderr: 'bad\n',
    })
  })

  test('the OOM killer ends commands before the init of their box, and before all else on the host', async () => {
    const { stdout } = await run('cat /proc/1/oom_score_adj /proc/self/oom_score_adj')
    expect(stdout).toBe('0\n1000\n')
  })

  test('a command without a directory starts in the home of its user', async () => {
    const running = await lab.runtime.exec('box_main', { command: ['pwd'], cwd: null, environment: {}, user: 'app' })
    expect(running.cwd).toBe('/home/app')
    expect(await running.exited).toMatchObject({ exitCode: 0 })
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  })

  test('a program is found on the path of its environment', async () => {
    await run('mkdir -p /opt/x && printf "#!/bin/sh\\necho found" >/opt/x/mine && chmod +x /opt/x/mine')
    expect(await run(['mine'], { environment: { PATH: '/opt/x' } })).toMatchObject({ exitCode: 0, stdout: 'found\n' })
    expect(await run(['mine'])).toMatchObject({ exitCode: 127, stderr: 'boxyard: mine: not found\n' })
  })

  test.each([
    [['/nowhere/x'], {}, 127, 'boxyard: /nowhere/x: not found\n'],
    // The reason comes from crun: 1.8 prints "permission denied", 1.21 "operation not permitted".
    [
      ['/etc/passwd'],
      {},
      126,
      expect.stringMatching(
        /^boxyard: \/etc\/passwd: cannot be started: (Permission denied|Operation not permitted)\n$/,
      ),
    ],
    [['/etc'], {}, 126, expect.stringMatching(/^boxyard: \/etc: cannot be started: /)],
    [['ls'], { cwd: '/nowhere' }, 127, 'boxyard: cannot enter /nowhere: No such file or directory\n'],
    [['ls'], { cwd: '/etc/passwd' }, 127, 'boxyard: cannot enter /etc/passwd: Not a directory\n'],
  ])('a command that cannot be started ends as in a shell: %j %j', async (command, changes, exitCode, stderr) => {
    expect(await run(command, changes)).toMatchObject({ exitCode, signal: null, stdout: '', stderr })
  })

  test('a file without a known format is no program', async () => {
    await run('echo nonsense >/tmp/noise; chmod +x /tmp/noise')
    const outcome = await run(['/tmp/noise'])
    // crun 1.21 has already reported a running program, and exits with 1.
    expect([
      { exitCode: 126, stderr: 'boxyard: /tmp/noise: cannot be started: Exec format error\n' },
      { exitCode: 1, stderr: 'exec: Exec format error\n' },
    ]).toContainEqual({ exitCode: outcome.exitCode, stderr: outcome.stderr })
  })

  test('ending by a signal is not the same as an exit code above 128', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: null, signal: 'SIGSEGV' })
    expect(await run('kill -9 $$')).toMatchObject({ exitCode: null, signal: 'SIGKILL', outOfMemory: false })
    expect(await run('exit 137')).toMatchObject({ exitCode: 137, signal: null, outOfMemory: false })
    expect(await run('exit 255')).toMatchObject({ exitCode: 255, signal: null, stderr: '' })
  })

  test('a command that lets itself be traced, and stops, has not ended', async () => {
    const stops = [
      { name: 'ptrace', args: [PTRACE_TRACEME, 0, 0, 0] },
      { name: 'kill', args: [0, SIGSTOP] },
      { name: 'ppoll', args: [0, 0, 0, 0, 0] },
    ]
    writeFileSync(`${lab.home}/roots/box_main/tmp/stops`, buildSyscallProgram(stops), { mode: 0o755 })
    for (let round = 0; round < 5; round++) {
      const running = await lab.runtime.exec('box_main', {
        ...{ command: ['/tmp/stops'], cwd: '/', environment: {}, user: null },
      })
      await running.signal('SIGKILL')
      expect(await running.exited).toEqual({ exitCode: null, signal: 'SIGKILL', outOfMemory: false })
      for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
    }
  })

  test('users and groups are those of the box', async () => {
    expect((await run('id', { user: 'app' })).stdout).toBe('uid=1000(app) gid=1000(app) groups=29(audio),44(video)\n')
    expect((await run('echo $HOME $USER', { user: 'app' })).stdout).toBe('/home/app app\n')
    expect((await run('id -u; id -g', { user: '1234:audio' })).stdout).toBe('1234\n29\n')
    await expect(run('id', { user: 'nobody-here' })).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/user', detail: 'the box has no user named "nobody-here"' }],
    })
    await expect(run('id', { user: '70000' })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('a user other than root has no capabilities, and root has few', async () => {
    const caps = 'grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status'
    expect((await run(caps, { user: 'app' })).stdout).toMatch(/CapEff:\t0{16}\nNoNewPrivs:\t0\nSeccomp:\t2/)
    expect((await run(caps)).stdout).toMatch(/CapEff:\t00000000808465fb\n/)
  })

  test('passwd is read inside the root only, and only if it is a file', async () => {
    const spec = lab.spec('box_links')
    await lab.runtime.start(spec)
    rmSync(`${spec.rootPath}/etc/passwd`)
    symlinkSync('../../../../../../etc/passwd', `${spec.rootPath}/etc/passwd`)
    await expect(execute(lab.runtime, spec.id, 'id', { user: 'daemon' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    rmSync(`${spec.rootPath}/etc/passwd`)
    await execute(lab.runtime, spec.id, 'mkfifo /etc/passwd')
    expect((await execute(lab.runtime, spec.id, 'echo fine')).stdout).toBe('fine\n')
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test.each([
    ['a file of 2 MiB of empty lines', (path: string) => writeFileSync(path, '\n'.repeat(2 * 1024 * 1024))],
    ['a file of 2 MiB of colons', (path: string) => writeFileSync(path, ':'.repeat(2 * 1024 * 1024))],
    ['a link to a name that no file can have', (path: string) => symlinkSync('x'.repeat(300), path)],
  ])('passwd or group being %s costs the agent little and is ignored', async (_, make) => {
    const spec = lab.spec('box_odd')
    for (const name of ['passwd', 'group']) {
      rmSync(`${spec.rootPath}/etc/${name}`, { force: true })
      make(`${spec.rootPath}/etc/${name}`)
    }
    await lab.runtime.start(spec)
    const before = process.threadCpuUsage()
    const running = execute(lab.runtime, spec.id, ['id', '-u'], { user: '7' })
    expect(process.threadCpuUsage(before).user).toBeLessThan(60_000)
    expect((await running).stdout).toBe('7\n')
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('passwd is ignored while a program of the box holds a lease on it', async () => {
    const spec = lab.spec('box_lease')
    const calls: Syscall[] = [
      { name: 'rt_sigprocmask', args: [0, words(1 << (SIGIO - 1)), 0, 8] },
      { name: 'openat', args: [-100, '/etc/passwd', 2] },
      { name: 'fcntl', args: [3, F_SETLEASE, F_WRLCK] },
      { name: 'ppoll', args: [0, 0, 0, 0, 0] },
    ]
    writeFileSync(`${spec.rootPath}/tmp/lease`, buildSyscallProgram(calls), { mode: 0o755 })
    await lab.runtime.start(spec)
    const shim = await lab.runtime.exec(spec.id, { command: ['/tmp/lease'], cwd: '/', environment: {}, user: null })
    const { ino } = statSync(`${spec.rootPath}/etc/passwd`)
    await untilTrue(() => readFileSync('/proc/locks', 'utf8').includes(`:${ino} `))
    expect(await execute(lab.runtime, spec.id, ['true'], { user: '7' })).toMatchObject({ exitCode: 0 })
    await expect(execute(lab.runtime, spec.id, 'id', { user: 'app' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    for (const stream of [shim.stdin, shim.stdout, shim.stderr]) stream.destroy()
  })

  test('a setuid program gains the ids and capabilities of root of the box, under the same filter', async () => {
    const { rootPath } = lab.spec('box_main')
    const mkdirat = process.arch === 'arm64' ? '34' : '258'
    const calls = [
      { name: mkdirat, args: [-100, '/root/made', 0o700] },
      { name: 'ppoll', args: [0, 0, 0, 0, 0] },
    ]
    writeFileSync(`${rootPath}/tmp/gain`, buildSyscallProgram(calls))
    chmodSync(`${rootPath}/tmp/gain`, 0o4755)
    const command = { command: ['/tmp/gain'], cwd: '/', environment: {}, user: 'app' }
    const running = await lab.runtime.exec('box_main', command)
    const linesOf = async (pid: string): Promise<string[]> => {
      const { stdout } = await run(['grep', '-E', '^(Uid|CapEff|CapBnd|Seccomp):', `/proc/${pid}/status`])
      return stdout.trim().split('\n')
    }
    try {
      // Only root can create it.
      await untilTrue(() => existsSync(`${rootPath}/root/made`))
      const [ids, ...gained] = await linesOf(String(await running.process))
      const [, ...ofRoot] = await linesOf('self')
      expect(ids).toBe('Uid:\t1000\t0\t0\t0')
      expect(gained).toEqual(ofRoot)
      expect(gained).toContain('Seccomp:\t2')
    } finally {
      await running.signal('SIGKILL')
      await running.exited
      for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
    }
  })

  test('output streams can be reopened by their names, by root and by others', async () => {
    const command = 'echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin'
    for (const user of ['root', 'app'])
      expect(await run(command, { user, input: 'in\n' })).toMatchObject({ stdout: 'out\nin\n', stderr: 'err\n' })
    const { uid, gid, mode } = statSync('/dev/null')
    expect([uid, gid, mode & 0o777]).toEqual([0, 0, 0o666])
  })

  test('what is written by root of the box belongs to id 0 on disk', async () => {
    await run('echo x >/tmp/owned; chown app /tmp/owned; echo y >/tmp/root')
    expect(statSync(`${lab.home}/roots/box_main/tmp/owned`).uid).toBe(1000)
    expect(statSync(`${lab.home}/roots/box_main/tmp/root`).uid).toBe(0)
  })

  test('a large environment and 1 MiB of input pass through', async () => {
    const environment = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`BIG_${i}`, 'x'.repeat(8_000)]))
    const outcome = await run('echo ${#BIG_19}; wc -c', { environment, input: 'y'.repeat(1024 * 1024) })
    expect(outcome.stdout).toBe('8000\n1048576\n')
  })

  test('processes left behind are reaped, and the pid is the one inside the box', async () => {
    const running = await lab.runtime.exec('box_main', {
      command: ['/bin/sh', '-c', 'echo $$'],
      cwd: '/',
      environment: {},
      user: null,
    })
    const [inside, printed] = await Promise.all([running.process, running.stdout.toArray()])
    expect(Buffer.concat(printed as Buffer[]).toString()).toBe(`${inside}\n`)
    running.stdin.destroy()
    running.stderr.destroy()
    await run('for i in 1 2 3; do (sleep 0.05 &) ; done; sleep 0.2')
    expect((await run('ps -o stat,comm')).stdout).not.toMatch(/^Z/m)
  })

  test('a signal reaches all processes of a command, also in another session', async () => {
    const request = {
      command: ['/bin/sh', '-c', 'setsid sleep 600 & sleep 600'],
      cwd: '/',
      environment: {},
      user: null,
    }
    const running = await lab.runtime.exec('box_main', request)
    await untilTrue(async () => (await run('pidof sleep | wc -w')).stdout.trim() === '2')
    await running.signal('SIGKILL')
    expect(await running.exited).toEqual({ exitCode: null, signal: 'SIGKILL', outOfMemory: false })
    expect((await run('pidof sleep')).exitCode).toBe(1)
    await running.signal('SIGKILL')
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  })

  test('a command can handle a polite signal', async () => {
    const request = {
      command: ['/bin/sh', '-c', 'trap "exit 5" TERM; echo up; while :; do sleep 0.01; done'],
      cwd: '/',
      environment: {},
      user: null,
    }
    const running = await lab.runtime.exec('box_main', request)
    await new Promise((resolve) => running.stdout.once('data', resolve))
    await running.signal('SIGTERM')
    expect(await running.exited).toMatchObject({ exitCode: 5, signal: null })
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  })

  test('background processes of a command go on after it, and its cgroup is gone', async () => {
    await run('sleep 600 >/dev/null 2>&1 </dev/null &')
    await untilTrue(() => execCgroups(lab, 'box_main').length === 0)
    expect((await run('pidof sleep')).exitCode).toBe(0)
    await run('killall sleep')
  })

  test('ended processes are not left as zombies of the agent', async () => {
    await run(['/nowhere/x'])
    await untilTrue(() => zombies().every((each) => zombiesBefore.has(each)))
  })
})

function zombies(): string[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  return children.filter((pid) => existsSync(`/proc/${pid}`) && readStartTicks(Number(pid)) === null)
}

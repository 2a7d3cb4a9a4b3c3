import { describe, expect, test } from '@jest/globals'
import { resolveUser } from '../../../agent/drivers/boxes/users.ts'
import { explainFailedStart } from '../../../agent/drivers/exec/oci-exec.ts'
import { findCgroupLayout } from '../../../agent/drivers/host/cgroup/layout.ts'
import { buildBoxConfig, buildExecProcess } from '../../../agent/drivers/host/oci-spec.ts'
import { buildSeccompProfile } from '../../../agent/drivers/host/seccomp-profile.ts'
import { createKeyedLock, createLimiter } from '../../../shared/locks.ts'

describe('the user of a command', () => {
  const passwd = ['root:x:0:0:root:/root:/bin/sh', 'app:x:1000:1001::/home/app:', 'odd:x:70000:0::/:', '7:x:8:8::rel:']
  const group = ['root:x:0:', 'audio:x:29:app,root', 'video:x:44:app', 'huge:x:99999:app']
  const split = (lines: string[]): string[][] => lines.map((line) => line.split(':'))
  const resolve = (wanted: string): ReturnType<typeof resolveUser> => resolveUser(wanted, split(passwd), split(group))

  test('by name has the groups that list it', () => {
    expect(resolve('app')).toEqual({ uid: 1000, gid: 1001, additionalGids: [29, 44], name: 'app', home: '/home/app' })
  })

  test('by number is the one of the file, or one without a name', () => {
    expect(resolve('1000').name).toBe('app')
    expect(resolve('4242')).toEqual({ uid: 4242, gid: 0, additionalGids: [], name: null, home: '/' })
  })

  test('whose name is a number is that user, and a relative home is not used', () => {
    expect(resolve('7')).toMatchObject({ uid: 8, home: '/' })
  })

  test('with a group has that group alone', () => {
    expect(resolve('app:video')).toMatchObject({ uid: 1000, gid: 44, additionalGids: [] })
    expect(resolve('0:12')).toMatchObject({ uid: 0, gid: 12 })
  })

  test.each(['', ':', 'app:', ':audio', 'nobody', 'odd', '-1', '65536', 'app:none', 'a:b:c', '1e3'])(
    '%j is refused',
    (wanted) => {
      expect(() => resolve(wanted)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    },
  )
})

describe('the OCI process of a command', () => {
  const limits = { files: { soft: 1024, hard: 4096 }, core: { soft: 7, hard: 7 } }
  const user = { uid: 1000, gid: 1000, additionalGids: [29], name: 'app', home: '/home/app' }
  const request = { command: ['env'], cwd: '/tmp', environment: { USER: 'other', A: 'b=c' }, user: 'app' }

  test("has the user, and the request's environment overrides its name and home", () => {
    const process = buildExecProcess(request, user, limits)
    expect(process.env).toEqual(expect.arrayContaining(['HOME=/home/app', 'USER=other', 'A=b=c']))
    expect(process.user).toEqual({ uid: 1000, gid: 1000, additionalGids: [29] })
  })

  test('has a terminal with size and TERM, if requested', () => {
    expect(buildExecProcess(request, user, limits)).toMatchObject({ terminal: false })
    expect(buildExecProcess(request, user, limits).env.some((entry) => entry.startsWith('TERM='))).toBe(false)
    const withTerminal = { ...request, terminal: { cols: 77, rows: 33 } }
    const process = buildExecProcess(withTerminal, user, limits)
    expect(process).toMatchObject({ terminal: true, consoleSize: { width: 77, height: 33 } })
    expect(process.env).toContain('TERM=xterm-256color')
    const given = { ...withTerminal, environment: { TERM: 'vt100' } }
    expect(buildExecProcess(given, user, limits).env).toContain('TERM=vt100')
  })

  test('has a language of UTF-8 where nothing chooses one, as init has', () => {
    const languageOf = (environment: Record<string, string>): string[] =>
      buildExecProcess({ ...request, environment }, user, limits).env.filter((entry) => entry.startsWith('LANG='))
    expect(languageOf({})).toEqual(['LANG=C.UTF-8'])
    expect(languageOf({ LANG: '' })).toEqual(['LANG='])
    expect(languageOf({ LC_ALL: 'C' })).toEqual([])
    expect(languageOf({ LC_CTYPE: 'C' })).toEqual([])
  })

  test('may leave a core dump in a box that may have some', () => {
    const coreOf = (dumpsCore: boolean) =>
      buildExecProcess({ ...request, dumpsCore }, user, limits).rlimits?.filter(({ type }) => type === 'RLIMIT_CORE')
    expect(coreOf(false)).toEqual([{ type: 'RLIMIT_CORE', soft: 0, hard: 0 }])
    expect(coreOf(true)).toEqual([{ type: 'RLIMIT_CORE', soft: 7, hard: 7 }])
  })

  test('has effective capabilities for root only, and none that reach beyond the box', () => {
    expect(buildExecProcess(request, user, limits).capabilities.effective).toEqual([])
    const { effective, bounding } = buildExecProcess(request, { ...user, uid: 0 }, limits).capabilities
    expect(effective).toEqual(bounding)
    for (const name of [
      'SYS_ADMIN',
      'NET_ADMIN',
      'SYS_RESOURCE',
      'SYS_BOOT',
      'BPF',
      'PERFMON',
      'MKNOD',
      'SYS_PTRACE',
      'SYS_MODULE',
      'DAC_READ_SEARCH',
    ])
      expect(bounding).not.toContain(`CAP_${name}`)
  })
})

test('has every namespace in the configuration of its box, with the network by path', () => {
  const spec = { hostname: 'a', environment: {} }
  const parts = {
    stagedRoot: '/s',
    userNamespace: '/u',
    networkNamespace: '/n',
    init: '/i',
    files: {},
    seccompFilter: 'x',
  }
  const config = buildBoxConfig(spec, { ...parts, cgroupVersion: 1 })
  expect(config.linux.namespaces.map(({ type }) => type).sort()).toEqual([
    'cgroup',
    'ipc',
    'mount',
    'network',
    'pid',
    'user',
    'uts',
  ])
  expect(config.process).toMatchObject({ noNewPrivileges: true, capabilities: { bounding: [], effective: [] } })
  expect(config.root?.path).toBe('/s')
})

describe('cgroups of the host', () => {
  const line = (path: string, type: string, options: string): string =>
    `30 20 0:2 / ${path} rw - ${type} ${type} ${options}`
  const first = ['pids', 'memory', 'cpu,cpuacct', 'freezer'].map((name) => line(`/c/${name}`, 'cgroup', `rw,${name}`))

  test('of version 1 are used where they exist, also beside version 2', () => {
    const layout = findCgroupLayout([...first, line('/c/unified', 'cgroup2', 'rw')].join('\n'))
    expect(layout).toEqual({
      version: 1,
      pids: '/c/pids',
      memory: '/c/memory',
      cpu: '/c/cpu,cpuacct',
      cpuacct: '/c/cpu,cpuacct',
      cpuset: null,
      blkio: null,
      execs: '/c/freezer',
    })
  })

  test('of version 2 only are one hierarchy', () => {
    expect(findCgroupLayout(line('/c', 'cgroup2', 'rw'))).toMatchObject({ version: 2, pids: '/c', execs: '/c' })
  })

  test('that are split between the versions, or missing, are refused', () => {
    expect(() => findCgroupLayout([first[1], line('/c', 'cgroup2', 'rw')].join('\n'))).toThrow('no usable cgroups')
    expect(() => findCgroupLayout('')).toThrow('no usable cgroups')
  })
})

test.each([
  ['executable file `x` not found in $PATH: No such file or directory', 127, 'boxyard: x: not found\n'],
  ['chdir `/w`: Permission denied', 127, 'boxyard: cannot enter /w: Permission denied\n'],
  ['open executable: Permission denied', 126, 'boxyard: x: cannot be started: Permission denied\n'],
  ['exec: No such file or directory', 127, 'boxyard: x: not found\n'],
  ['', 126, 'boxyard: x: cannot be started: for a reason of the host\n'],
])("crun's error %j is reported as in a shell", (message, exitCode, stderr) => {
  expect(explainFailedStart(message, 'x', '/w')).toEqual({ exitCode, line: stderr })
})

test('a program with a long name is reported by its beginning', () => {
  const { line } = explainFailedStart('open executable: Permission denied', 'y'.repeat(131_071), '/w')
  expect(line).toBe(`boxyard: ${'y'.repeat(200)}…: cannot be started: Permission denied\n`)
})

test('crun failing before the gate means that a terminal or the directory is missing', () => {
  const told = (message: string): string => explainFailedStart(message, null, '/w').line
  expect(told('open /dev/ptmx: No such file or directory')).toBe(
    'boxyard: the box cannot make a terminal: No such file or directory\n',
  )
  expect(told('chdir to `/w`: No such file or directory')).toBe('boxyard: cannot enter /w: No such file or directory\n')
})

test('the filter allows each system call once and none that it must refuse', () => {
  for (const machine of ['x64', 'arm64'] as const) {
    const names = buildSeccompProfile(machine).syscalls.flatMap(({ names: each, args }) => (args ? [] : each))
    expect(new Set(names).size).toBe(names.length)
    for (const name of [
      'mount',
      'unshare',
      'setns',
      'bpf',
      'keyctl',
      'io_uring_setup',
      'userfaultfd',
      'ioctl',
      'socket',
      'clone',
    ])
      expect(names).not.toContain(name)
  }
})

describe('locks', () => {
  test('work for one key runs in order, for two at once, and goes on after a failure', async () => {
    const lock = createKeyedLock()
    const order: string[] = []
    const step = (name: string, gate: Promise<unknown>) => async (): Promise<void> => {
      order.push(`${name} begins`)
      await gate
      order.push(`${name} ends`)
    }
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const works = [
      lock.run('a', step('first', gate)),
      lock.run('a', () => Promise.reject(new Error('no'))).catch(() => undefined),
      lock.run('a', step('second', gate)),
      lock.run('b', step('other', Promise.resolve())),
    ]
    await works[3]
    open()
    await Promise.all(works)
    expect(order).toEqual(['first begins', 'other begins', 'other ends', 'first ends', 'second begins', 'second ends'])
  })

  test('a gate lets no more through than its limit', async () => {
    const gate = createLimiter(2)
    let [inside, most] = [0, 0]
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    }
    await Promise.all(Array.from({ length: 7 }, () => gate.run(work)))
    expect(most).toBe(2)
  })
})

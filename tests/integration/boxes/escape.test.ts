import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { BTRFS_IOCTLS, NAMESPACES, REFUSED_CALLS } from '../../fixtures/refused-calls.ts'
import { type ExecOutcome, execute, type OciLab, openOciLab } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall, words } from '../../helpers/boxes/syscall-program.ts'

const [EPERM, ENOENT, ENOSYS] = [1, 2, 38]
const AT_FDCWD = -100
const S_IFIFO = 0o10000
const SIGCHLD = 17
const SOCK_RAW = 3
const [AF_UNIX, AF_INET, AF_KEY, AF_PACKET, AF_BLUETOOTH, AF_ALG, AF_VSOCK, AF_XDP] = [1, 2, 15, 17, 31, 38, 40, 44]
const SOCKETCALL = 102
const X32 = 0x40000000
const [FICLONE, FIDEDUPERANGE, TIOCGWINSZ] = [0x40049409, 0xc0189436, 0x5413]

describe('a box as its root', () => {
  let lab: OciLab
  let rootPath: string

  beforeAll(async () => {
    lab = await openOciLab({ usesLxcfs: true })
    const spec = lab.spec('box_cage')
    rootPath = spec.rootPath
    await lab.runtime.start(spec)
  })

  afterAll(() => lab.close())

  const run = (command: string | string[], user: string | null = null): Promise<ExecOutcome> =>
    execute(lab.runtime, 'box_cage', command, { user })
  let programs = 0
  const call = async (calls: readonly Syscall[], options: { compat?: boolean } = {}): Promise<number | string> => {
    const path = `/tmp/program-${programs++}`
    writeFileSync(`${rootPath}${path}`, buildSyscallProgram(calls, options), { mode: 0o755 })
    const { exitCode, signal } = await run([path])
    return exitCode ?? signal ?? 'unknown'
  }

  test('makes ordinary system calls (positive control)', async () => {
    expect(await call([{ name: 'getpid' }])).toBe(0)
    expect(await call([{ name: 'openat', args: [AT_FDCWD, '/nowhere', 0] }])).toBe(ENOENT)
    expect(await call([{ name: 'openat', args: [AT_FDCWD, '/etc/passwd', 0] }])).toBe(0)
    expect(await call([{ name: 'mknodat', args: [AT_FDCWD, '/tmp/fifo', S_IFIFO | 0o600, 0] }])).toBe(0)
    for (const family of [AF_UNIX, AF_INET]) expect(await call([{ name: 'socket', args: [family, 1, 0] }])).toBe(0)
  })

  test.each(Object.entries(NAMESPACES))('makes no %s namespace', async (_, flag) => {
    expect(await call([{ name: 'unshare', args: [flag] }])).toBe(EPERM)
    expect(await call([{ name: 'clone', args: [flag | SIGCHLD, 0, 0, 0, 0] }])).toBe(EPERM)
    expect(await call([{ name: 'clone3', args: [words(flag, 0, 0, 0, SIGCHLD, 0, 0, 0), 64] }])).toBe(ENOSYS)
    const enter: Syscall[] = [
      { name: 'openat', args: [AT_FDCWD, '/proc/self/ns/user', 0] },
      { name: 'setns', args: [3, 0] },
    ]
    expect(await call(enter)).toBe(EPERM)
  })

  test.each(REFUSED_CALLS)('is refused %s', async (name, args) => {
    expect(await call([{ name, args }])).toBe(EPERM)
  })

  test.each(['io_setup', 'io_submit', 'io_cancel', 'io_destroy', 'io_getevents', 'io_pgetevents'])(
    'gets ENOSYS for %s',
    async (name) => {
      expect(await call([{ name, args: [1, words(0), 0, 0, 0, 0] }])).toBe(ENOSYS)
    },
  )

  test('finds no disks, file systems or firmware of the host', async () => {
    const paths = 'block class/block dev/block devices/virtual/block fs/btrfs fs/ext4 fs/xfs firmware module'
    const found = await run(`cd /sys; for path in ${paths}; do ls $path 2>/dev/null; done | wc -l; ls class/net`)
    expect(found.stdout).toMatch(/^0\neth0\nlo\n$/)
  })

  test('leaves no core and has few terminals', async () => {
    expect((await run('ulimit -c; ulimit -Hc; grep -c " /dev/pts .*max=64" /proc/mounts')).stdout).toBe('0\n0\n1\n')
    expect((await run('grep "core file" /proc/1/limits')).stdout).toMatch(/size +0 +0 /)
  })

  test.each(Object.entries(BTRFS_IOCTLS))('has no btrfs control %s', async (_, request) => {
    expect(await call([{ name: 'ioctl', args: [0, request, words(0)] }])).toBe(EPERM)
    // The kernel reads only 32 bits of the number, so a filter that compares all 64 bits would miss this.
    expect(await call([{ name: 'ioctl', args: [0, BigInt(request) | (1n << 40n), words(0)] }])).toBe(EPERM)
  })

  test('may share extents and query its terminal (positive control)', async () => {
    const outcomes = [FICLONE, FIDEDUPERANGE, TIOCGWINSZ].map((request) =>
      call([{ name: 'ioctl', args: [0, request, words(0, 0, 0)] }]),
    )
    expect(await Promise.all(outcomes)).not.toContain(EPERM)
  })

  test.each([AF_KEY, AF_PACKET, AF_BLUETOOTH, AF_ALG, AF_VSOCK, AF_XDP])(
    'has no socket of family %i',
    async (family) => {
      expect(await call([{ name: 'socket', args: [family, SOCK_RAW, 0] }])).toBe(EPERM)
      expect(await call([{ name: 'socket', args: [BigInt(family) | (1n << 40n), SOCK_RAW, 0] }])).toBe(EPERM)
    },
  )

  test('gains nothing by system calls of another architecture', async () => {
    if (process.arch !== 'x64') return
    const compat = { compat: true }
    // A kernel without 32-bit calls kills the program. Other kernels apply the filter.
    const refused = [EPERM, 'SIGSEGV']
    expect([0, 'SIGSEGV']).toContain(await call([{ name: 'getpid' }], compat))
    expect(refused).toContain(await call([{ name: 'unshare', args: [NAMESPACES.user] }], compat))
    expect(refused).toContain(await call([{ name: 'mount', args: ['none', '/tmp', 'tmpfs', 0, 0] }], compat))
    expect(refused).toContain(await call([{ name: 'keyctl', args: [0, -3, 0] }], compat))
    expect(refused).toContain(await call([{ name: 'socket', args: [AF_VSOCK, 1, 0] }], compat))
    const pointers = Buffer.from(new Uint32Array([AF_VSOCK, 1, 0]).buffer)
    expect([ENOSYS, 'SIGSEGV']).toContain(await call([{ name: String(SOCKETCALL), args: [1, pointers] }], compat))
    expect([ENOSYS, EPERM, 'SIGSYS']).toContain(await call([{ name: String(X32 | 272), args: [NAMESPACES.user] }]))
  })

  test('mounts and unmounts nothing, and changes no mount', async () => {
    const attempts = [
      'mount -t tmpfs none /tmp',
      'mount -t proc none /tmp',
      'mount -t cgroup none /tmp',
      'mount --bind / /tmp',
      'mount -o remount,rw /sys',
      'mount -o remount,rw,bind /etc/machine-id',
      'umount /etc/machine-id',
      'umount -l /proc/sys',
      'pivot_root / /tmp',
      'unshare -m true',
      'unshare -r true',
      'nsenter -t 1 -m true',
      'losetup /dev/loop0 /etc/passwd',
      'insmod /etc/passwd',
      'swapon /etc/passwd',
    ]
    for (const attempt of attempts) expect([attempt, (await run(attempt)).exitCode]).not.toEqual([attempt, 0])
  })

  test('makes no device and finds only harmless ones', async () => {
    expect((await run('mknod /tmp/null c 1 3')).stderr).toMatch(/Operation not permitted/)
    expect((await run('mknod /dev/vda b 254 0')).stderr).toMatch(/Operation not permitted/)
    expect((await run('cd /dev; find . -type b -o -type c | grep -v pts | sort | tr -d "\\n"')).stdout).toBe(
      './full./null./random./tty./urandom./zero',
    )
  })

  test.each([
    '/proc/sys/kernel/core_pattern',
    '/proc/sys/kernel/modprobe',
    '/proc/sys/net/ipv4/ip_forward',
    '/proc/sysrq-trigger',
    '/proc/irq/default_smp_affinity',
    '/sys/kernel/uevent_helper',
    '/sys/kernel/mm/transparent_hugepage/enabled',
    '/sys/power/state',
    '/proc/1/exe',
    '/dev/boxyard/init',
    '/etc/machine-id',
  ])('writes nothing to %s', async (path) => {
    const { exitCode, stderr } = await run(`echo 1 >${path}`)
    expect(exitCode).not.toBe(0)
    expect(stderr).toMatch(/Read-only file system|Permission denied|nonexistent directory|Text file busy|No such file/)
  })

  test('reads no masked file of the kernel', async () => {
    const outcome = await run(
      'cat /proc/kcore /proc/keys /proc/timer_list /proc/interrupts /proc/modules 2>/dev/null | wc -c; ls /sys/firmware | wc -l',
    )
    expect(outcome.stdout).toBe('0\n0\n')
    const ofHost = ['cmdline', 'diskstats', 'locks', 'partitions'].map((name) => `/proc/${name}`)
    expect(await run(['cat', ...ofHost])).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
    expect((await run('dmesg')).exitCode).not.toBe(0)
  })

  test('finds no way to the host through cgroups', async () => {
    const files = '$(find / -name release_agent -o -name cgroup.procs -o -name tasks -o -name memory.max 2>/dev/null)'
    expect(
      (await run(`for file in ${files}; do case $file in /proc/*) ;; *) echo 1 >$file && echo $file;; esac; done`))
        .stdout,
    ).toBe('')
    expect((await run('cat /proc/self/cgroup')).stdout).not.toMatch(/box_cage|boxyard/)
  })

  test('neither writes to the files of lxcfs nor takes them away', async () => {
    const table = 'grep -c " fuse.lxcfs " /proc/self/mountinfo'
    expect((await run(table)).stdout).toBe('7\n')
    const files =
      '/proc/meminfo /proc/cpuinfo /proc/stat /proc/uptime /proc/loadavg /proc/swaps /sys/devices/system/cpu/online'
    const attempts = [
      'echo 1 >$f',
      'rm -f $f',
      'mv $f /tmp/f',
      'chmod 777 $f',
      'chown 0 $f',
      'umount -l $f',
      'mount -o remount,rw,bind $f',
    ]
    for (const attempt of attempts)
      expect((await run(`for f in ${files}; do (${attempt}) 2>/dev/null && echo $f; done`)).stdout).toBe('')
    expect((await run(table)).stdout).toBe('7\n')
    const handle: Syscall[] = [
      { name: 'openat', args: [AT_FDCWD, '/proc/meminfo', 0] },
      { name: 'open_by_handle_at', args: [3, Buffer.from(words(8, 1, 1, 0)), 0] },
    ]
    expect(await call(handle)).toBe(EPERM)
  })

  test('sees no cgroup but its own, and changes nothing in it', async () => {
    const other = lab.spec('box_beside', { ramMb: 77 })
    await lab.runtime.start(other)
    const found = await run(
      'find /sys/fs/cgroup | grep -e box_ -e boxyard -e release_agent; grep -r 80740352 /sys/fs/cgroup 2>/dev/null',
    )
    expect(found.stdout).toBe('')
    const write = 'for f in $(find /sys/fs/cgroup -type f); do (echo 1 >$f) 2>/dev/null && echo $f; done'
    expect(
      (await run(`${write}; mkdir /sys/fs/cgroup/sub /sys/fs/cgroup/memory/sub 2>/dev/null && echo made`)).stdout,
    ).toBe('')
    await lab.runtime.stop(other.id, { graceMs: 0 })
  })

  test('sees and signals only its own processes', async () => {
    const pids = (await run('ls /proc | grep -x "[0-9]*"')).stdout.trim().split('\n').map(Number)
    expect(Math.max(...pids)).toBeLessThan(5000)
    expect(pids.length).toBeLessThan(10)
    expect((await run(`kill -0 ${process.pid}`)).exitCode).not.toBe(0)
    expect(
      (await run('ls -d /proc/1/root/roots /proc/1/cwd/work; ls -A /proc/1/root | wc -l; ls -A / | wc -l')).stdout,
    ).toMatch(/^(\d+)\n\1\n$/)
  })

  test('gets no descriptor of the host', async () => {
    expect(
      (await run('for fd in /proc/self/fd/*; do readlink $fd; done')).stdout.replaceAll(/pipe:\[\d+\]\n/g, ''),
    ).toMatch(/^(\/proc\/\d+\/fd\n)?$/)
    for (let fd = 3; fd < 24; fd++) {
      const outcome = await execute(lab.runtime, 'box_cage', ['pwd'], { cwd: `/proc/self/fd/${fd}` })
      expect(outcome).toMatchObject({ exitCode: 127, stdout: '' })
    }
  })

  test('cannot overwrite the programs of the host that run in it', async () => {
    const digest = (): string[] =>
      ['/usr/bin/crun', '/usr/bin/catatonit'].map((path) =>
        createHash('sha256').update(readFileSync(path)).digest('hex'),
      )
    const before = digest()
    const spoiler = await lab.runtime.exec('box_cage', {
      command: [
        '/bin/sh',
        '-c',
        'while :; do for exe in /proc/[0-9]*/exe; do echo spoilt 2>/dev/null >>$exe; done; done',
      ],
      cwd: '/',
      environment: {},
      user: null,
    })
    spoiler.stderr.resume()
    for (let i = 0; i < 20; i++) await run(['/proc/self/exe', '--version'])
    await spoiler.signal('SIGKILL')
    expect((await spoiler.exited).signal).toBe('SIGKILL')
    for (const stream of [spoiler.stdin, spoiler.stdout, spoiler.stderr]) stream.destroy()
    expect(digest()).toEqual(before)
  })

  test('stays inside its root when it leaves a chroot', async () => {
    const path = `${lab.home}/run`
    const climb: Syscall[] = [
      { name: 'mkdirat', args: [AT_FDCWD, '/tmp/jail', 0o755] },
      { name: 'openat', args: [AT_FDCWD, '/', 0] },
      { name: 'chroot', args: ['/tmp/jail'] },
      { name: 'fchdir', args: [3] },
      ...Array.from({ length: 20 }, () => ({ name: 'chdir', args: ['..'] })),
      { name: 'chroot', args: ['.'] },
    ]
    expect(await call([...climb, { name: 'openat', args: [AT_FDCWD, '/etc/passwd', 0] }])).toBe(0)
    expect(await call([...climb, { name: 'openat', args: [AT_FDCWD, path, 0] }])).toBe(ENOENT)
  })

  test('gives no rights by set-user-id files or capabilities of files', async () => {
    await run('mkdir /tmp/gain; cp /bin/busybox /tmp/gain; chmod 4755 /tmp/gain/busybox')
    expect((await run(['/tmp/gain/busybox', 'id', '-u'], 'app')).stdout).toBe('1000\n')
    expect((await run('grep CapEff /proc/self/status', 'app')).stdout).toBe('CapEff:\t0000000000000000\n')
  })
})

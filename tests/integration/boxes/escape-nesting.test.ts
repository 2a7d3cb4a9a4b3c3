import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { NAMESPACES_MAX } from '../../../agent/drivers/host/nesting.ts'
import { BTRFS_IOCTLS, NAMESPACES, REFUSED_CALLS } from '../../fixtures/refused-calls.ts'
import { type ExecOutcome, execute, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram, type Syscall, words } from '../../helpers/boxes/syscall-program.ts'
import { openVolumeLab, type VolumeLab } from '../../helpers/volumes/lab.ts'

const [EPERM, EACCES, EINVAL, ENOSYS] = [1, 13, 22, 38]
const AT_FDCWD = -100
const [AF_INET, AF_NETLINK, SOCK_RAW, SOCK_PACKET, SOCK_CLOEXEC] = [2, 16, 3, 10, 0o2000000]
const NETLINK = { route: 0, xfrm: 6, netfilter: 12, rdma: 20, crypto: 21 }
/** System calls that nesting allows. */
const MOUNTING = new Set(['mount', 'umount2', 'pivot_root', 'open_tree', 'move_mount', 'mount_setattr', 'fsopen'])
const OF_MOUNTS = new Set([...MOUNTING, 'fspick', 'fsconfig', 'fsmount', 'sethostname'])
const KEYRINGS = new Set(['keyctl', 'add_key', 'request_key'])

describe('a hostile box with nesting', () => {
  let volumes: VolumeLab
  let rootPath: string

  beforeAll(async () => {
    volumes = await openVolumeLab()
    const readOnly = await volumes.makeVolume('vol_read')
    const written = await volumes.makeVolume('vol_write')
    const mounts = [
      { source: readOnly, path: '/read', readOnly: true },
      { source: written, path: '/write', readOnly: false },
    ]
    const spec = await volumes.startBox('box_nest', { nesting: true, mounts, pidsMax: 600 })
    rootPath = spec.rootPath
  })

  afterAll(async () => {
    await volumes.close()
    await untilGone(volumes.lab)
  })

  const run = (command: string | string[], user: string | null = null): Promise<ExecOutcome> =>
    execute(volumes.lab.runtime, 'box_nest', command, { user })
  let programs = 0
  const call = async (calls: readonly Syscall[]): Promise<number | string> => {
    const path = `/tmp/program-${programs++}`
    writeFileSync(`${rootPath}${path}`, buildSyscallProgram(calls), { mode: 0o755 })
    const { exitCode, signal } = await run([path])
    return exitCode ?? signal ?? 'unknown'
  }
  const failsAll = async (attempts: readonly string[], user: string | null = null): Promise<void> => {
    for (const attempt of attempts) {
      const { exitCode } = await run(attempt, user)
      expect([attempt, exitCode === 0]).toEqual([attempt, false])
    }
  }

  test('makes namespaces and mounts, as root and as a user (positive control)', async () => {
    for (const flag of Object.values(NAMESPACES)) expect(await call([{ name: 'unshare', args: [flag] }])).toBe(0)
    const nested =
      'unshare -Urmnpf --mount-proc sh -c "id -u; mount -t tmpfs none /tmp && mount -t sysfs -o ro none /sys"'
    expect(await run(nested, 'app')).toMatchObject({ exitCode: 0, stdout: '0\n' })
    const overlay =
      'cd $(mktemp -d); mkdir l u w m; echo low >l/f; mount -t overlay -o userxattr,lowerdir=l,upperdir=u,workdir=w none m'
    expect((await run(`${overlay} && cat m/f && rm m/f && ls m | wc -l`)).stdout).toBe('low\n0\n')
  })

  test.each(REFUSED_CALLS.filter(([name]) => !OF_MOUNTS.has(name) && !KEYRINGS.has(name)))(
    'is refused %s',
    async (name, args) => {
      expect(await call([{ name, args }])).toBe(EPERM)
    },
  )

  test('has no packet socket by its old name, and raw sockets in its own network', async () => {
    for (const type of [SOCK_PACKET, SOCK_PACKET | SOCK_CLOEXEC])
      expect(await call([{ name: 'socket', args: [AF_INET, type, 0x300] }])).toBe(EPERM)
    expect(await call([{ name: 'socket', args: [AF_INET, SOCK_RAW, 1] }])).toBe(0)
  })

  test.each([...KEYRINGS])('has no %s', async (name) => {
    const [, args = []] = REFUSED_CALLS.find(([each]) => each === name) ?? []
    expect(await call([{ name, args }])).toBe(ENOSYS)
  })

  test.each(Object.entries(BTRFS_IOCTLS))('has no btrfs control %s', async (_, request) => {
    expect(await call([{ name: 'ioctl', args: [0, request, words(0)] }])).toBe(EPERM)
    const nested: Syscall[] = [
      { name: 'unshare', args: [NAMESPACES.user | NAMESPACES.mount] },
      { name: 'ioctl', args: [0, request, words(0)] },
    ]
    expect(await call(nested)).toBe(EPERM)
  })

  test('has the netlink of networks and of their filters, and none of other parts of the kernel', async () => {
    const open = (protocol: number) => call([{ name: 'socket', args: [AF_NETLINK, SOCK_RAW, protocol] }])
    expect([await open(NETLINK.route), await open(NETLINK.netfilter)]).toEqual([0, 0])
    for (const protocol of [NETLINK.xfrm, NETLINK.rdma, NETLINK.crypto]) expect(await open(protocol)).toBe(EPERM)
  })

  test('mounts no disk and no file system that is not for user namespaces', async () => {
    await failsAll([
      'mount -t btrfs /dev/loop0 /mnt',
      'mkdir -p /mnt; mount -t ext4 /dev/vda /mnt',
      ...[
        'devtmpfs',
        'debugfs',
        'tracefs',
        'securityfs',
        'autofs',
        'nfs',
        'pstore',
        'xfs',
        'btrfs',
        'squashfs',
        'erofs',
      ].map((type) => `mount -t ${type} none /mnt`),
      'mount -t fuse -o fd=0,rootmode=40000,user_id=0,group_id=0 none /mnt',
      'losetup /dev/loop0 /etc/passwd',
      'swapon /etc/passwd',
      'insmod /etc/passwd',
    ])
  })

  test('opens no device: neither a node that it makes, nor one on its disk, by no mount of it', async () => {
    await failsAll([
      'mknod /tmp/vda b 254 0',
      'mount -t tmpfs none /mnt; mknod /mnt/vda b 254 0',
      'unshare -Ur mknod /tmp/v b 254 0',
    ])
    // A base of a hostile project can contain this device.
    execFileSync('mknod', ['-m', '666', `${rootPath}/tmp/full`, 'c', '1', '7'])
    execFileSync('mknod', ['-m', '666', `${volumes.pool.path('vol_write')}/full`, 'c', '1', '7'])
    await run('mkdir -p /o/u /o/w /o/m /b')
    const ways = [
      'head -c1 /tmp/full',
      'head -c1 /write/full',
      'mount -o remount,bind,dev /; head -c1 /tmp/full',
      'mount --bind /tmp /b; mount -o remount,bind,dev /b; head -c1 /b/full',
      'mount --bind /write /b; mount -o remount,bind,dev /b; head -c1 /b/full',
      'mount -t overlay -o userxattr,lowerdir=/tmp,upperdir=/o/u,workdir=/o/w none /o/m; head -c1 /o/m/full',
      'unshare -Urm sh -c "mount --rbind / /b; mount -o remount,bind,dev /b; head -c1 /b/tmp/full"',
    ]
    for (const way of ways) {
      const { stdout, exitCode, stderr } = await run(way)
      await run('umount /b; umount /o/m')
      expect([way, stdout, exitCode, stderr]).toEqual([way, '', 1, expect.stringMatching(/full: Permission denied/)])
    }
    expect((await run('head -c1 /dev/full | wc -c')).stdout).toBe('1\n')
  })

  test('makes no read-only volume writable, and no volume of setuid programs', async () => {
    writeFileSync(`${volumes.pool.path('vol_read')}/kept`, 'kept')
    const clear = words(0, 1 | 2 | 4, 0, 0)
    const attempts: Syscall[][] = [
      [{ name: 'mount_setattr', args: [AT_FDCWD, '/read', 0, clear, 32] }],
      [
        { name: 'open_tree', args: [AT_FDCWD, '/read', 1] },
        { name: 'mount_setattr', args: [3, '', 0x1000, clear, 32] },
      ],
      [{ name: 'mount_setattr', args: [AT_FDCWD, '/write', 0, words(0, 2, 0, 0), 32] }],
    ]
    for (const attempt of attempts) expect(await call(attempt)).toBe(EPERM)
    await failsAll([
      'mount -o remount,bind,rw /read',
      'mount --bind /read /b; mount -o remount,bind,rw /b; echo x >/b/kept',
      'umount /b; mount --bind /read /b; mount --make-private /b; mount -o remount,bind,rw /b; echo x >/b/kept',
      'umount /b; unshare -Urm sh -c "mount -o remount,bind,rw /read; echo x >/read/kept"',
      'mkdir /o/u2 /o/w2; mount -t overlay -o userxattr,lowerdir=/,upperdir=/b,workdir=/read none /o/m',
      'mount -o remount,bind,suid /write',
    ])
    await run('cp /bin/busybox /write/busybox; chmod 4755 /write/busybox')
    expect((await run('/write/busybox id -u', 'app')).stdout).toBe('1000\n')
    expect(readFileSync(`${volumes.pool.path('vol_read')}/kept`, 'utf8')).toBe('kept')
  })

  test('maps no ids on a disk of the host, whose files it could then own', async () => {
    const userNamespace: Syscall = { name: 'openat', args: [AT_FDCWD, '/proc/self/ns/user', 0] }
    const idmap = Buffer.concat([words(0x100000, 0, 0, 3)])
    const attempt = (path: string): Syscall[] => [
      userNamespace,
      { name: 'open_tree', args: [AT_FDCWD, path, 1] },
      { name: 'mount_setattr', args: [4, '', 0x1000, idmap, 32] },
    ]
    for (const path of ['/', '/write', '/etc/machine-id', '/dev/null'])
      expect([EPERM, EINVAL]).toContain(await call(attempt(path)))
    await failsAll([
      'echo x >/etc/machine-id',
      'mount -o remount,bind,rw /etc/machine-id && echo x >/etc/machine-id',
      'chmod 777 /etc/machine-id',
    ])
    await failsAll(['chown 0:0 /dev/null', 'chmod 777 /dev/null', 'rm /etc/machine-id'])
  })

  test('sets no setting of the host, though nothing covers them', async () => {
    const uncovered =
      'while read -r _ _ _ _ path _; do case $path in /proc/*|/sys/*) umount $path;; esac; done </proc/self/mountinfo'
    await run(`${uncovered}; ${uncovered}; mount -o remount,rw /sys; mkdir -p /p; mount -t proc none /p`)
    const writable = (path: string) =>
      `find ${path} -type f 2>/dev/null | while read -r f; do { true >>"$f"; } 2>/dev/null && echo "$f"; done`
    const settings = (await run(writable('/p/sys'))).stdout.trim().split('\n')
    expect(settings.filter((path) => !OWN_SETTINGS.test(path))).toEqual([])
    expect(settings).toContain('/p/sys/net/ipv4/ip_forward')
    const system = (await run(writable('/sys'))).stdout.trim().split('\n')
    expect(system.filter((path) => !/^(\/sys\/devices\/virtual\/net\/|$)/.test(path))).toEqual([])
    await failsAll([
      'echo "|/tmp/x" >/p/sys/kernel/core_pattern',
      'echo /tmp/x >/p/sys/kernel/modprobe',
      'echo b >/p/sysrq-trigger',
      'echo 1 >/p/irq/default_smp_affinity',
      'echo /tmp/x >/sys/kernel/uevent_helper',
      'head -c1 /p/kcore',
      'head -c1 /p/kmsg',
      'dmesg',
    ])
  })

  test('finds no program that the host would run, and no limit that it could raise, in cgroups', async () => {
    const mounts =
      'mkdir -p /c; mount -t tmpfs none /c; while read -r name _; do mkdir -p /c/$name; mount -t cgroup -o $name none /c/$name 2>/dev/null; done </proc/cgroups; mkdir /c/two; mount -t cgroup2 none /c/two; ls /c'
    expect((await run(mounts)).stdout).toContain('two')
    const files =
      'release_agent notify_on_release cgroup.procs tasks memory.limit_in_bytes memory.max pids.max cpu.cfs_quota_us cpu.max freezer.state devices.allow cgroup.max.descendants'
    const writes = files.split(' ').map((name) => `-name ${name}`)
    const tried = `n=0; for f in $(find /c ${writes.join(' -o ')}); do n=$((n+1)); case $f in /c/two/cgroup.procs|*/two/*/*) continue;; esac; (echo 1 >$f) 2>/dev/null && echo $f; done; echo $n tried`
    expect((await run(tried)).stdout).toMatch(/^[1-9]\d* tried\n$/)
    await failsAll(['mkdir /c/memory/more', 'mkdir /c/devices/more', 'unshare -C mkdir /c/pids/more'])
    // Memory of nested namespaces counts for the box.
    const hog = 'unshare -Urmpf --mount-proc sh -c "head -c 400m /dev/zero | tail -c 390m | wc -c"'
    expect((await run(hog)).stdout).not.toMatch(/^\d{9}/)
  })

  test('has a bounded number of namespaces', async () => {
    const path = '/proc/sys/user/max_net_namespaces'
    expect((await run(`cat ${path}`)).stdout).toBe(`${NAMESPACES_MAX.net}\n`)
    await failsAll([`echo 100000 >${path}`])
    // A nested namespace can set its own limits, which count within the limits above.
    const deep = `unshare -Ur sh -c 'echo 100000 >${path}; i=0; while unshare -n true && [ $i -lt 3 ]; do i=$((i+1)); done; echo $i'`
    expect((await run(deep)).stdout).toBe('3\n')
    // The box's own network namespace counts as one.
    const more = NAMESPACES_MAX.net - 1
    const many = `for i in $(seq ${NAMESPACES_MAX.net + 8}); do unshare -n sleep 60 >/dev/null 2>&1 & done; i=0; while [ $(ps | grep -c "[s]leep 60$") -lt ${more} ] && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done; sleep 0.5; ps | grep -c "[s]leep 60$"; killall sleep`
    const count = Number((await run(many)).stdout)
    expect(count).toBe(more)
  })

  test('overwrites no program of the host that runs in it', async () => {
    const { stdout } = await run(
      'for exe in /proc/[0-9]*/exe /dev/boxyard/init; do (echo x >>$exe) 2>/dev/null && echo $exe; done; mount -o remount,bind,rw /dev/boxyard/init; (echo x >>/dev/boxyard/init) 2>/dev/null && echo spoilt',
    )
    expect(stdout).toBe('')
    expect(await call([{ name: 'openat', args: [AT_FDCWD, '/dev/boxyard/init', 1] }])).toBe(EACCES)
  })
})

/** Settings of the box's own namespaces: network, IPC, host name, pids, and limits that nested namespaces set. */
const OWN_SETTINGS =
  /^\/p\/sys\/(net\/|fs\/mqueue\/|kernel\/(hostname|domainname|msg|sem|shm|ns_last_pid|pid_max|auto_msgmni))/

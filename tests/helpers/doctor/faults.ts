import type { Facts, UnitFacts } from '../../../agent/doctor/facts.ts'
import type { DoctorCode, FindingLevel } from '../../../agent/doctor/findings.ts'
import { type BreakHost, PROGRAM_FAULTS } from './program-faults.ts'

/** Gives a host one file with these details. */
export const withFile = (
  facts: Facts,
  path: string,
  found: { mode: number; uid: number } | null,
  neededBy: string | null = null,
) =>
  Object.assign(facts, {
    files: [
      {
        ...{ path, allowed: 0o600, required: 0o400, neededBy },
        found: { value: found && { ...found, isDirectory: false } },
      },
    ],
  })
const disk = (facts: Facts, change: object): void => {
  if ('value' in facts.disk) Object.assign(facts.disk.value, change)
}
/** Changes the details of the front's port. */
export const changeFirstPort = (facts: Facts, change: object): void => void Object.assign(facts.ports[0] ?? {}, change)
const units = (facts: Facts, change: Partial<UnitFacts>): void => {
  const unit = { name: 'boxyard-agent.service', load: 'loaded', active: 'active', sub: 'running' }
  Object.assign(facts.service, {
    units: { value: [{ ...unit, file: 'enabled', result: 'success', status: '', ...change }] },
  })
}
/** Returns one holder of a port. */
export const holdersFor = (isOurs: boolean, unit: string | null) => ({
  value: [{ pid: 7, command: 'nginx', unit, isOurs }],
})
const data = (facts: Facts, schema: Facts['service']['schema']): void =>
  void Object.assign(facts.service, { schema, health: { value: { status: 'ok', problems: [] } } })
const RUNNING = {
  ...{ holder: { value: { pid: 1, unit: null } }, health: { value: { status: 'ok', problems: [] } } },
}
const health = (facts: Facts, problems: { code: string; evidence: string; remedy: string }[] | null): void =>
  void Object.assign(facts.service, { health: { value: { status: 'degraded', problems } } })
const nameservers = (facts: Facts, value: { address: string; answered: boolean }[]): void =>
  void Object.assign(facts.network, { nameservers: { value } })
const GIB = 1024 ** 3

/** Faults of a host and the resulting findings, with words from the evidence and the remedy. */
export const FAULTS: readonly [DoctorCode, FindingLevel, BreakHost, evidence: string, remedy: string][] = [
  ['setting_wrong', 'problem', (f) => Object.assign(f.settings, { faults: ['X: no.'] }), 'X: no.', 'Correct it'],
  ['kernel_old', 'problem', (f) => Object.assign(f.kernel, { release: '6.6.1' }), 'Linux 6.6.1', 'Debian 13'],
  ['kernel_old', 'problem', (f) => Object.assign(f.kernel, { release: '5.15-x' }), 'Linux 5.15', 'backports'],
  ['architecture_unknown', 'problem', (f) => Object.assign(f.kernel, { machine: 'riscv64' }), 'riscv64', 'arm64'],
  [
    'btrfs_missing',
    'problem',
    (f) => Object.assign(f.kernel, { filesystems: { value: ['ext4'] } }),
    'its module is not loaded',
    'modprobe btrfs',
  ],
  [
    'btrfs_missing',
    'problem',
    (f) => {
      Object.assign(f.kernel, { filesystems: { value: ['ext4'] } })
      Object.assign(f.kernel.modules, { btrfs: { value: false } })
    },
    'and no module for it',
    'Use a kernel that has it',
  ],
  [
    'loop_missing',
    'problem',
    (f) => Object.assign(f.kernel, { hasLoopControl: false }),
    'loop devices',
    'modprobe loop',
  ],
  [
    'cgroups_missing',
    'problem',
    (f) => Object.assign(f.kernel, { mountInfo: { value: '' } }),
    'no usable',
    '/sys/fs/cgroup',
  ],
  [
    'cgroups_missing',
    'problem',
    (f) => Object.assign(f.kernel, { controllers: { value: ['cpu'] } }),
    'memory, pids',
    'version 2',
  ],
  [
    'namespaces_missing',
    'problem',
    (f) => Object.assign(f.kernel, { namespaces: { value: ['pid'] } }),
    'user, mnt',
    'kernel',
  ],
  [
    'namespace_limit',
    'problem',
    (f) => Object.assign(f.kernel, { namespaceLimits: { value: { user: 0, net: 9999 } } }),
    'user.max_user_namespaces is 0.',
    'sysctl',
  ],
  [
    'namespace_limit',
    'note',
    (f) => Object.assign(f.kernel, { namespaceLimits: { value: { net: 500 } } }),
    'max_net_namespaces is 500',
    'BOXYARD_BOXES_MAX',
  ],
  [
    'terminals_few',
    'note',
    (f) => {
      Object.assign(f.kernel, { terminals: { value: { max: 4096, reserve: 1024 } } })
      Object.assign(f.service, RUNNING)
    },
    'kernel.pty.max is 4096',
    'sysctl -w kernel.pty.max=65024',
  ],
  [
    'nft_unusable',
    'problem',
    (f) => Object.assign(f.network, { nft: { value: { isUsable: false, output: 'Error: no such file' } } }),
    'no such file',
    'modprobe nf_tables',
  ],
  [
    'network',
    'problem',
    (f) => Object.assign(f.network, { problems: { value: [{ code: 'subnet_in_use', evidence: 'E', remedy: 'R.' }] } }),
    'subnet_in_use: E.',
    'R.',
  ],
  [
    'ids_lent',
    'problem',
    (f) => Object.assign(f.network, { lentNumbers: Array.from({ length: 12 }, (_, k) => k) }),
    'all of the 12',
    '1073741824–1879072767',
  ],
  ['ids_lent', 'note', (f) => Object.assign(f.network, { lentNumbers: [0] }), 'the host ids of 1 of the 12', 'Move'],
  [
    'dns_silent',
    'problem',
    (f) => nameservers(f, [{ address: '192.0.2.9', answered: false }]),
    '192.0.2.9',
    'BOXYARD_DNS',
  ],
  [
    'dns_silent',
    'note',
    (f) =>
      nameservers(f, [
        { address: '192.0.2.9', answered: false },
        { address: '192.0.2.1', answered: true },
      ]),
    '192.0.2.9.',
    'BOXYARD_DNS',
  ],
  ...PROGRAM_FAULTS,
  [
    'clock_behind',
    'problem',
    (f) => Object.assign(f.clock, { newestFile: { path: '/data/boxyard.db', at: f.now + 3_600_000 } }),
    '/data/boxyard.db was written at 2026-11-24T13:00:00.000Z',
    'Set the clock',
  ],
  [
    'clock_unsynchronized',
    'note',
    (f) => Object.assign(f.clock, { isSynchronized: { value: false } }),
    'no time source',
    'systemd-timesyncd',
  ],
  [
    'disk_full',
    'problem',
    (f) => disk(f, { pool: { sizeBytes: GIB }, availableBytes: 1e6 }),
    '0 MiB left',
    'Free space',
  ],
  ['disk_small', 'problem', (f) => disk(f, { availableBytes: 2 * GIB }), '2.0 GiB left', 'BOXYARD_POOL_GB'],
  ['disk_small', 'note', (f) => disk(f, { availableBytes: 9 * GIB }), 'takes 8.0 GiB', 'BOXYARD_DATA_DIR'],
  ['disk_read_only', 'problem', (f) => disk(f, { isReadOnly: true }), 'read-only', 'dmesg'],
  ['disk_volatile', 'problem', (f) => disk(f, { type: 'tmpfs' }), 'tmpfs', 'BOXYARD_DATA_DIR'],
  ['disk_remote', 'problem', (f) => disk(f, { type: 'nfs4' }), 'nfs4', 'local disk'],
  ['disk_remote', 'problem', (f) => disk(f, { type: 'fuse.sshfs' }), 'fuse.sshfs', 'local disk'],
  ['inodes_used_up', 'problem', (f) => disk(f, { freeInodes: 3 }), '3 more files', 'Remove files'],
  [
    'port_taken',
    'problem',
    (f) => changeFirstPort(f, { holders: holdersFor(false, 'nginx.service') }),
    'Port 8080 of 127.0.0.1 (BOXYARD_PORT) is in use by nginx (process 7, nginx.service).',
    'systemctl stop nginx.service), or set BOXYARD_PORT',
  ],
  [
    'port_taken',
    'problem',
    (f) => changeFirstPort(f, { holders: holdersFor(false, null) }),
    'nginx (process 7)',
    'Stop the program that listens',
  ],
  [
    'port_twice',
    'problem',
    (f) => changeFirstPort(f, { port: 8090 }),
    'BOXYARD_PORT and BOXYARD_AGENT_PORT',
    'a different port',
  ],
  [
    'port_unusable',
    'problem',
    (f) => changeFirstPort(f, { refusal: 'EADDRNOTAVAIL' }),
    'no such address',
    'address of this machine',
  ],
  [
    'mode_open',
    'problem',
    (f) => withFile(f, '/d/admin.token', { mode: 0o644, uid: 0 }),
    'mode 0644',
    'chmod 0600 /d/admin.token',
  ],
  ['mode_closed', 'problem', (f) => withFile(f, '/d/key', { mode: 0o000, uid: 0 }), 'mode 0000', 'chmod 0400 /d/key'],
  [
    'owner_wrong',
    'problem',
    (f) => withFile(f, '/d/key', { mode: 0o600, uid: 1000 }),
    'id 1000',
    'chown root:root /d/key',
  ],
  [
    'parent_open',
    'problem',
    (f) => withFile(f, '/var/lib', { mode: 0o777, uid: 0 }),
    'Other users can write to /var/lib',
    'chmod go-w',
  ],
  [
    'file_missing',
    'problem',
    (f) => withFile(f, '/k.pem', null, 'BOXYARD_DATA_KEY'),
    'BOXYARD_DATA_KEY names /k.pem',
    'Create the file',
  ],
  ['schema_newer', 'problem', (f) => data(f, { value: 7 }), 'version 7', 'newer Boxyard'],
  ['schema_older', 'note', (f) => data(f, { value: 5 }), 'version 5', 'migrates'],
  [
    'database_unreadable',
    'problem',
    (f) => data(f, { hidden: 'file is not a database' }),
    'not a database',
    'boxyard admin restore',
  ],
  [
    'pool_missing',
    'problem',
    (f) => Object.assign(f.service, { expectsPool: { value: true } }),
    'pool.img',
    'Mount the disk',
  ],
  [
    'version_differs',
    'note',
    (f) => Object.assign(f.service, { runningVersion: { version: '1.1.0', commit: null } }),
    'is 1.1.0, this program is 1.2.0',
    'systemctl restart',
  ],
  ['unit_failed', 'problem', (f) => units(f, { active: 'failed', result: 'exit-code' }), 'exit-code', 'journalctl -u'],
  ['unit_failed', 'problem', (f) => units(f, { sub: 'auto-restart' }), 'keeps exiting', 'journalctl -u boxyard-agent'],
  ['unit_inactive', 'problem', (f) => units(f, { active: 'inactive' }), 'does not run', 'systemctl start'],
  ['unit_disabled', 'note', (f) => units(f, { file: 'disabled' }), 'at boot', 'systemctl enable'],
  [
    'service_silent',
    'problem',
    (f) => Object.assign(f.service, { holder: { value: { pid: 5, unit: 'boxyard-agent.service' } } }),
    'process 5, boxyard-agent.service',
    'boxyard-front',
  ],
  [
    'service_stopped',
    'note',
    (f) => Object.assign(f.service, { schema: { value: 6 }, lastFailure: 'It broke.' }),
    'Its last error: It broke.',
    'systemctl start',
  ],
  ['health', 'problem', (f) => health(f, [{ code: 'pool_full', evidence: 'E.', remedy: 'R.' }]), 'pool_full: E.', 'R.'],
  ['health', 'problem', (f) => health(f, null), 'reports degraded', 'as root'],
]

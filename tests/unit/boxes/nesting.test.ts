import { describe, expect, test } from '@jest/globals'
import { NESTING_CAPABILITIES } from '../../../agent/drivers/host/nesting.ts'
import { buildBoxConfig, buildExecProcess } from '../../../agent/drivers/host/oci-spec.ts'
import { buildSeccompProfile } from '../../../agent/drivers/host/seccomp-profile.ts'

const PARTS = {
  stagedRoot: '/s',
  userNamespace: '/u',
  networkNamespace: '/n',
  init: '/i',
  files: {},
  seccompFilter: 'x',
}

describe.each(['x64', 'arm64'] as const)('the filter of %s', (machine) => {
  const rulesFor = (nesting: boolean, name: string) =>
    buildSeccompProfile(machine, { nesting }).syscalls.filter(({ names }) => names.includes(name))
  const allowed = (nesting: boolean, name: string): boolean =>
    rulesFor(nesting, name).some(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined)

  test.each(['unshare', 'setns', 'clone', 'clone3', 'mount', 'umount2', 'pivot_root', 'move_mount', 'fsconfig'])(
    'allows %s with nesting alone',
    (name) => {
      expect([allowed(false, name), allowed(true, name)]).toEqual([false, true])
    },
  )

  test.each(['bpf', 'io_uring_setup', 'open_by_handle_at', 'perf_event_open', 'userfaultfd', 'init_module', 'swapon'])(
    'has no rule for %s in either',
    (name) => {
      expect([...rulesFor(false, name), ...rulesFor(true, name)]).toEqual([])
    },
  )

  test('tells runtimes that there are no keyrings, and bounds netlink by protocol', () => {
    expect(rulesFor(true, 'keyctl')).toEqual([expect.objectContaining({ action: 'SCMP_ACT_ERRNO', errnoRet: 38 })])
    const netlink = rulesFor(true, 'socket').filter(({ args }) => args?.[0]?.value === 16)
    expect(netlink.map(({ args }) => args?.[1])).toEqual(
      [0, 4, 9, 12, 15, 16].map((value) => ({ index: 2, value, op: 'SCMP_CMP_EQ' })),
    )
  })
})

describe('the configuration of a box with nesting', () => {
  test('shares its mounts, writes its own cgroup of version 2, and its settings', () => {
    const config = buildBoxConfig({ environment: {}, nesting: true }, { ...PARTS, cgroupVersion: 2 })
    expect(config.linux).toMatchObject({ rootfsPropagation: 'shared', readonlyPaths: [] })
    const cgroup = config.mounts?.find(({ destination }) => destination === '/sys/fs/cgroup')
    expect([cgroup?.type, cgroup?.options.includes('rw')]).toEqual(['cgroup', true])
    const plain = buildBoxConfig({ environment: {} }, { ...PARTS, cgroupVersion: 2 })
    expect(plain.linux.rootfsPropagation).toBeUndefined()
    expect(plain.linux.readonlyPaths).toContain('/proc/sys')
    expect(plain.mounts?.find(({ destination }) => destination === '/sys/fs/cgroup')?.options).toContain('ro')
  })

  test('has no cgroups of version 1 but a place for them', () => {
    const { mounts } = buildBoxConfig({ environment: {}, nesting: true }, { ...PARTS, cgroupVersion: 1 })
    const cgroup = mounts?.find(({ destination }) => destination === '/sys/fs/cgroup')
    expect([cgroup?.type, cgroup?.options.includes('ro')]).toEqual(['tmpfs', true])
  })
})

test('root in a box with nesting has more capabilities, none of them over processes, modules or disks', () => {
  const user = { uid: 0, gid: 0, additionalGids: [], name: 'root', home: '/root' }
  const request = { command: ['id'], cwd: '/', environment: {}, user: null }
  const of = (nesting: boolean, uid = 0) =>
    buildExecProcess(
      { ...request, nesting },
      { ...user, uid },
      { files: { soft: 1, hard: 1 }, core: { soft: 0, hard: 0 } },
    ).capabilities
  expect(of(true).effective).toEqual([...of(false).effective, ...NESTING_CAPABILITIES])
  expect(of(true, 1000).effective).toEqual([])
  for (const name of ['SYS_MODULE', 'SYS_RAWIO', 'SYS_PTRACE', 'SYS_RESOURCE', 'SYS_BOOT', 'BPF', 'DAC_READ_SEARCH'])
    expect(of(true).bounding).not.toContain(`CAP_${name}`)
})

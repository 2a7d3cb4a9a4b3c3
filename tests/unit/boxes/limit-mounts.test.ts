import { describe, expect, test } from '@jest/globals'
import { planLimitMounts } from '../../../agent/drivers/boxes/limit-mounts.ts'
import type { MountLine } from '../../../agent/drivers/host/mount-info.ts'

const line = (path: string, type: string, device = '0:9'): MountLine => ({
  ...{ id: 1, parentId: 0, device, root: '/', rawPath: path, path },
  ...{ readOnly: true, type, source: type, superOptions: '', peerGroup: null, masterGroup: null },
})
const files = new Map([['/proc/meminfo', 7]])
const covers = '/covers'
const cgroups = { memory: '/cgroup/memory/box' }
const hidden = ['/proc/diskstats', '/proc/partitions'].map((path) => line(path, 'tmpfs'))

describe('the mounts that show a box its limits', () => {
  test('are all for a box that has none, the directory of the cgroups first', () => {
    expect(planLimitMounts([], { lxcfs: { device: '0:5', files }, cgroups, covers })).toEqual([
      { path: '/sys/fs', stale: 0, source: { path: '/covers/fs' } },
      { path: '/sys/fs/cgroup/memory', stale: 0, source: { path: '/cgroup/memory/box' } },
      { path: '/proc/diskstats', stale: 0, source: { path: '/covers/empty' } },
      { path: '/proc/partitions', stale: 0, source: { path: '/covers/empty' } },
      { path: '/proc/meminfo', stale: 0, source: { fd: 7 } },
    ])
  })

  test('are none for a box that has them', () => {
    const table = [...hidden, line('/sys/fs/cgroup/memory', 'cgroup'), line('/proc/meminfo', 'fuse.lxcfs', '0:5')]
    expect(planLimitMounts(table, { lxcfs: { device: '0:5', files }, cgroups, covers })).toEqual([])
  })

  test.each([
    ['replace those of an lxcfs that ended', { device: '0:6', files }, { stale: 1, source: { fd: 7 } }],
    ['are taken away while lxcfs does not run', null, { stale: 1, source: null }],
  ])('%s', (_, lxcfs, expected) => {
    const table = [...hidden, line('/proc/meminfo', 'fuse.lxcfs', '0:5')]
    expect(planLimitMounts(table, { lxcfs, cgroups: null, covers })).toEqual([{ path: '/proc/meminfo', ...expected }])
  })

  test('leave the /proc of the kernel alone without lxcfs, and cgroups that the container has', () => {
    expect(planLimitMounts(hidden, { lxcfs: null, cgroups: null, covers })).toEqual([])
  })
})

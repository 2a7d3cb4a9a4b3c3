import { describe, expect, test } from '@jest/globals'
import { createSnapshotDiff } from '../../../agent/core/boxes/snapshot-diff.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'

const REFUSED = new ServiceError('internal', 'The storage refused the operation; the reason is logged.')
const QUERY = { max_results: 10, to: 'b' }

/** Opens a box with the snapshots a and b, in a pool with the given `changes`. `events` records its calls. */
function openLab(changes: (lab: Lab) => unknown) {
  const lab: Lab = { box: boxRecord(), snapshots: new Set(['a', 'b']), events: [] }
  const { compare } = createSnapshotDiff({
    store: {
      boxes: { byId: async () => lab.box },
      snapshots: {
        get: async (_id: string, name: string) => (lab.snapshots.has(name) ? { subvolume: `snp_${name}` } : null),
      },
      tombstones: { insert: async () => undefined },
    } as never,
    filesystem: {
      checkWritable: async () => undefined,
      snapshot: async ({ source }: { source: string }) => {
        lab.events.push(source)
        if (source !== lab.box?.root) throw REFUSED
      },
      changes: async () => changes(lab),
    } as never,
    reconciler: { scheduleDestroy: () => lab.events.push('buried') },
    clock: { now: () => 1 } as never,
    boxes: { get: async () => boxRecord() },
  })
  return { lab, compare: (query = QUERY) => compare({ project: 'demo', name: 'web' }, 'a', query) }
}

interface Lab {
  box: ReturnType<typeof boxRecord> | null
  snapshots: Set<string>
  events: string[]
}

describe('a comparison during a delete', () => {
  test.each([
    ['the earlier', (lab: Lab) => lab.snapshots.delete('a'), 'snapshot_not_found'],
    ['the later', (lab: Lab) => lab.snapshots.delete('b'), 'snapshot_not_found'],
    ['the box', (lab: Lab) => (lab.box = null), 'box_not_found'],
    ['nothing', () => undefined, 'internal'],
  ])('reports that %s is gone', async (_what, remove, code) => {
    const { compare } = openLab((lab) => {
      remove(lab)
      throw REFUSED
    })
    await expect(compare()).rejects.toMatchObject({ code })
  })

  test('uses the new root of the box if a restore replaces it', async () => {
    const { lab, compare } = openLab(() => ({ changes: [], hasMore: false }))
    lab.box = boxRecord({ root: 'sub_new' })
    expect(await compare({ ...QUERY, to: 'live' })).toEqual({ changes: [], next: null })
    expect(lab.events).toEqual(['sub_new', 'buried'])
  })
})

import { describe, expect, test } from '@jest/globals'
import { selectStored, storedName, storedOf } from '../../../web/src/pages/storage/storage-rows.ts'

const sizes = (size_bytes: number | null, unique_bytes: number | null) => ({ size_bytes, unique_bytes })
const rows = storedOf({
  pool: null,
  boxes: [{ project: 'demo', name: 'web', ...sizes(100, 10), snapshots: [{ name: 'v0', ...sizes(90, 40) }] }],
  volumes: [{ project: 'demo', name: 'db', ...sizes(70, 70), snapshots: [] }],
  bases: [{ project: null, name: 'debian', ...sizes(300, 0) }],
  projects: [{ project: 'demo', stored_bytes: 170 }],
  orphans: [{ subvolume: 'lost-1', ...sizes(null, null) }],
  deleting: null,
  scrub: null,
})

describe('what is stored', () => {
  test('is everything that a report tells of, each with a key of its own', () => {
    expect(rows.map(storedName)).toEqual(['demo/web', 'demo/web@v0', 'demo/db', 'debian', 'lost-1'])
    expect(rows.map(({ owner }) => owner)).toEqual(['box', 'box', 'volume', null, null])
    expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length)
  })

  test('is sorted by what deleting it would free, the unknown last', () => {
    const named = (filter: Partial<Parameters<typeof selectStored>[1]>) =>
      selectStored(rows, { text: '', kind: '', sort: '-frees', ...filter }).map(storedName)
    expect(named({})).toEqual(['demo/db', 'demo/web@v0', 'demo/web', 'debian', 'lost-1'])
    expect(named({ sort: '-size' })[0]).toBe('debian')
    expect(named({ sort: 'name' })[0]).toBe('debian')
    expect(named({ kind: 'snapshot' })).toEqual(['demo/web@v0'])
    expect(named({ text: 'WEB demo' })).toEqual(['demo/web@v0', 'demo/web'])
  })
})

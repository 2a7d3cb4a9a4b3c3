import { describe, expect, test } from '@jest/globals'
import { strongEtag } from '../../../cli/files/entity-tags.ts'
import { ENV_MAP, TAG_MAP, updateMaps } from '../../../cli/verbs/map-changes.ts'
import type { VerbFlags } from '../../../cli/verbs/verb.ts'

type Write = [changed: object, headers: Record<string, string>]

/** Updates maps of a resource that answers with these headers, and returns the writes. */
async function writesOf(
  flags: VerbFlags,
  headers: Record<string, string>,
  maps = [ENV_MAP, TAG_MAP],
): Promise<Write[]> {
  const writes: Write[] = []
  await updateMaps(
    { maps, flags, given: {} },
    async () => ({ body: { environment: { A: '1' }, tags: { team: 'docs' } }, headers: new Headers(headers) }),
    async (...write) => writes.push(write),
  )
  return writes
}

describe('maps are merged with what was read', () => {
  test('on the condition that it is still the same', async () => {
    expect(await writesOf({ env: ['B=2'] }, { etag: '"7"' })).toEqual([
      [{ environment: { A: '1', B: '2' } }, { 'if-match': '"7"' }],
    ])
  })

  test('also where a proxy made the entity tag weak', async () => {
    expect(await writesOf({ unsetTag: ['team'] }, { etag: 'W/"7"' })).toEqual([[{ tags: {} }, { 'if-match': '"7"' }]])
    expect(strongEtag(new Headers({ etag: '"W/7"' }))).toBe('"W/7"')
    expect(strongEtag(new Headers())).toBeNull()
  })

  test('never without an entity tag, as of a box whose host is away', async () => {
    const words = 'cannot be read. Nothing changed. Retry later.'
    await expect(writesOf({ env: ['B=2'] }, {})).rejects.toThrow(`its variables and tags ${words}`)
    await expect(writesOf({ tag: ['b=2'] }, {}, [TAG_MAP])).rejects.toThrow(`its tags ${words}`)
    expect(await writesOf({ env: ['B=2'], replaceEnv: true }, {})).toEqual([[{ environment: { B: '2' } }, {}]])
    expect(await writesOf({}, {})).toEqual([[{}, {}]])
  })
})

test.each<[VerbFlags, string]>([
  [{ unsetTag: ['team=docs'] }, '--unset-tag: must be KEY without a value, not "team=docs".'],
  [{ unsetEnv: ['A='], env: ['B=2'] }, '--unset-env: must be KEY without a value, not "A=".'],
  [{ unsetEnv: [''] }, '--unset-env: must be KEY without a value, not "".'],
  [{ unsetTag: ['a=1'], replaceTags: true }, '--unset-tag: must be KEY without a value, not "a=1".'],
  [{ unsetEnv: ['A'], env: ['A=2'] }, '--env and --unset-env both name A.'],
])('%j is refused before anything is read', async (flags, words) => {
  let reads = 0
  const read = async () => ({ body: {}, headers: new Headers({ etag: `"${++reads}"` }) })
  const updated = updateMaps({ maps: [ENV_MAP, TAG_MAP], flags, given: {} }, read, () =>
    Promise.reject(new Error('written')),
  )
  await expect(updated).rejects.toThrow(words)
  expect(reads).toBe(0)
})

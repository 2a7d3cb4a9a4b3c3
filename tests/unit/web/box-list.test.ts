import { describe, expect, test } from '@jest/globals'
import { replaceBox } from '../../../web/src/api/box-list.ts'
import type { Box } from '../../../web/src/api/records.ts'
import { type BoxFilter, selectBoxes } from '../../../web/src/pages/boxes/select.ts'

function box(project: string, name: string, more: Partial<Box> = {}): Box {
  const state = { reason: 'ready', message: null, since: '2026-01-01T00:00:00.000Z' }
  const plain = { id: `${project}-${name}`, project, name, status: 'running', base: 'debian', tags: {}, state }
  return { ...plain, created_at: state.since, ...more } as Box
}

const names = (boxes: readonly Box[]): string[] => boxes.map(({ project, name }) => `${project}/${name}`)

describe('a list that one box of is read anew', () => {
  const list = [box('a', 'one'), box('a', 'two'), box('b', 'one')]

  test.each([
    ['changed', { project: 'a', name: 'two' }, box('a', 'two', { status: 'stopped' }), ['a/one', 'a/two', 'b/one']],
    ['new in the middle', { project: 'a', name: 'pip' }, box('a', 'pip'), ['a/one', 'a/pip', 'a/two', 'b/one']],
    ['new at the end', { project: 'c', name: 'x' }, box('c', 'x'), ['a/one', 'a/two', 'b/one', 'c/x']],
    ['gone', { project: 'a', name: 'one' }, null, ['a/two', 'b/one']],
    ['never there', { project: 'z', name: 'z' }, null, ['a/one', 'a/two', 'b/one']],
  ])('%s', (_what, ref, now, expected) => {
    const replaced = replaceBox(list, ref, now)
    expect(names(replaced)).toEqual(expected)
    if (now) expect(replaced).toContain(now)
  })
})

describe('what is shown of a list', () => {
  const list = [
    box('a', 'web', { tags: { team: 'red' }, created_at: '2026-01-01T00:00:00.000Z' }),
    box('a', 'db', { status: 'stopped', node: 'n2', created_at: '2026-01-03T00:00:00.000Z' }),
    box('b', 'web', { base: 'busybox', created_at: '2026-01-02T00:00:00.000Z' }),
  ]
  const all: BoxFilter = { text: '', project: '', status: '', node: '', sort: 'name' }

  test.each([
    ['all', {}, ['a/web', 'a/db', 'b/web']],
    ['words of names, tags and bases, in any order', { text: 'RED web' }, ['a/web']],
    ['a base', { text: 'busy' }, ['b/web']],
    ['a project', { project: 'a' }, ['a/web', 'a/db']],
    ['a node', { node: 'n2' }, ['a/db']],
    ['a status', { status: 'stopped' }, ['a/db']],
    ['the newest first', { sort: 'created' }, ['a/db', 'b/web', 'a/web']],
    ['an order that is not known', { sort: 'x' }, ['a/web', 'a/db', 'b/web']],
  ])('%s', (_what, part, expected) => {
    expect(names(selectBoxes(list, { ...all, ...part }))).toEqual(expected)
  })

  test('the list itself stays as it was', () => {
    selectBoxes(list, { ...all, sort: 'created' })
    expect(names(list)).toEqual(['a/web', 'a/db', 'b/web'])
  })
})

import { describe, expect, it } from '@jest/globals'
import { changeWords, countChanges, selectChanges } from '../../../web/src/pages/box/snapshots/diff-changes.ts'

type Change = Parameters<typeof changeWords>[0]

const change = (part: Partial<Change>): Change => ({
  kind: 'added',
  path: '/a',
  path_base64: null,
  from: null,
  from_base64: null,
  modified: false,
  type: 'file',
  size_bytes: 1,
  ...part,
})

const changes = [
  change({ path: '/etc/App.conf' }),
  change({ kind: 'renamed', path: '/srv/new', from: '/srv/app', modified: true }),
  change({ kind: 'deleted', path: '/root/x' }),
]

describe('changes between two snapshots', () => {
  it('are counted by kind', () => {
    expect(countChanges(changes)).toEqual({ added: 1, modified: 0, deleted: 1, renamed: 1 })
  })

  it('are selected by kind, and by a part of either path, whatever the case', () => {
    expect(selectChanges(changes, { kind: '', text: 'app' }).map(({ path }) => path)).toEqual([
      '/etc/App.conf',
      '/srv/new',
    ])
    expect(selectChanges(changes, { kind: 'deleted', text: '' }).map(({ path }) => path)).toEqual(['/root/x'])
  })

  it('are told in words', () => {
    expect(changes.map(changeWords)).toEqual(['added', 'renamed and modified', 'deleted'])
  })
})

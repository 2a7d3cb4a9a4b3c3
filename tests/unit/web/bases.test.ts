import { describe, expect, test } from '@jest/globals'
import { baseName, selectBases, sourceText } from '../../../web/src/pages/bases/select-bases.ts'

type Listed = Parameters<typeof selectBases>[0][number]

const debian = base('debian', { project: null, source: 'host', size_bytes: 300 })
const app = base('app', { source: 'box:web@v1', size_bytes: 500 })
const tool = base('tool', { project: 'team-a', source: 'oci:ghcr.io/user/tool:1@sha256:abc', size_bytes: null })

describe('bases', () => {
  test('are found by names and sources, and told apart by owner', () => {
    const named = (filter: Partial<Parameters<typeof selectBases>[1]>) =>
      selectBases([debian, app, tool], { text: '', project: '', sort: '', ...filter }).map(baseName)
    expect(named({})).toEqual(['debian', 'demo/app', 'team-a/tool'])
    expect(named({ text: 'ghcr' })).toEqual(['team-a/tool'])
    expect(named({ project: '*' })).toEqual(['debian'])
    expect(named({ project: 'demo' })).toEqual(['demo/app'])
    expect(named({ sort: '-size' })).toEqual(['demo/app', 'debian', 'team-a/tool'])
  })

  test('say what they were made of', () => {
    expect([debian, app, tool].map(({ source }) => sourceText(source))).toEqual([
      'built on the host',
      'snapshot web@v1',
      'ghcr.io/user/tool:1',
    ])
    expect(['box:web', 'tar', 'oci', 'else'].map(sourceText)).toEqual(['box web', 'archive', 'image archive', 'else'])
  })
})

function base(name: string, more: Partial<Listed>): Listed {
  return {
    id: `bas_${name}`,
    name,
    project: 'demo',
    version: 1,
    size_bytes: 0,
    created_at: '2026-11-26T10:00:00.000Z',
    source: 'tar',
    used_by: null,
    ...more,
  }
}

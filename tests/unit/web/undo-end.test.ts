import { expect, test } from '@jest/globals'
import { afterEvent } from '../../../web/src/ui/undo-end.ts'

const BOX = '/v1/projects/yard/boxes/web'
const OTHER = '/v1/projects/yard/boxes/web-2'
const SNAPSHOT = '/v1/projects/yard/data/db/snapshots/auto'

test.each([
  ['its box is deleted', { of: [BOX], done: [] }, 'box.deleted', BOX, null],
  ['another box is deleted', { of: [BOX], done: [] }, 'box.deleted', OTHER, [BOX]],
  [
    'the volume of its snapshot is deleted',
    { of: [SNAPSHOT], done: [] },
    'data.deleted',
    '/v1/projects/yard/data/db',
    null,
  ],
  ['a part of it is deleted', { of: [BOX], done: [] }, 'snapshot.deleted', `${BOX}/snapshots/a`, [BOX]],
  ['somebody has done it', { of: [BOX], done: ['box.resume_requested'] }, 'box.resume_requested', BOX, null],
  [
    'somebody has done it with one of two',
    { of: [BOX, OTHER], done: ['box.resume_requested'] },
    'box.resume_requested',
    BOX,
    [OTHER],
  ],
  ['something else happens to it', { of: [BOX], done: ['box.resume_requested'] }, 'box.updated', BOX, [BOX]],
])('an undo after an event: %s', (_what, end, type, resource, of) => {
  expect(afterEvent(end, { type, resource, ts: '2026-01-31T00:00:00.000Z' })?.of ?? null).toEqual(of)
})

test('an undo stays after what was before it and is told later', () => {
  const end = { of: [BOX], done: ['box.resume_requested'], since: '2026-01-31T00:00:00.500Z' }
  const resumed = { type: 'box.resume_requested', resource: BOX }
  expect(afterEvent(end, { ...resumed, ts: '2026-01-31T00:00:00.499Z' })).toBe(end)
  expect(afterEvent(end, { ...resumed, ts: '2026-01-31T00:00:00.501Z' })).toBeNull()
})

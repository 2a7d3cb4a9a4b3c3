import { expect, test } from '@jest/globals'
import { afterEvent, resourcesOfPage } from '../../../web/src/ui/undo-end.ts'

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
  expect(afterEvent(end, { type, resource })?.of ?? null).toEqual(of)
})

test.each([
  ['/boxes/yard/web/files', [BOX]],
  ['/volumes/yard/db', ['/v1/projects/yard/data/db']],
  ['/boxes', []],
  ['/projects', []],
])('the page %s is of %j', (path, resources) => expect(resourcesOfPage(path)).toEqual(resources))

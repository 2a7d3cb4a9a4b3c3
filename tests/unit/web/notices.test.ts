import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createNotices, type Notices } from '../../../web/src/ui/notices.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const texts = (notices: Notices): unknown[] => notices.list().map(({ text }) => text)
const notice = (text: string) => ({ text, error: null, undo: undefined, end: null })

test('a notice goes when its time is over, and not while it is held', () => {
  const notices = createNotices()
  notices.add(notice('a'), 1_000)
  jest.advanceTimersByTime(900)
  notices.hold(true)
  notices.add(notice('b'), 500)
  jest.advanceTimersByTime(60_000)
  expect(texts(notices)).toEqual(['a', 'b'])
  notices.hold(false)
  jest.advanceTimersByTime(99)
  expect(texts(notices)).toEqual(['a', 'b'])
  jest.advanceTimersByTime(1)
  expect(texts(notices)).toEqual(['b'])
  jest.advanceTimersByTime(400)
  expect(texts(notices)).toEqual([])
})

test('of many the newest four are shown, and one that is dismissed ends the hold with it', () => {
  const notices = createNotices()
  for (const text of 'abcde') notices.add(notice(text), 1_000)
  expect(texts(notices)).toEqual(['b', 'c', 'd', 'e'])
  notices.hold(true)
  for (const { id } of notices.list()) notices.dismiss(id)
  notices.add(notice('f'), 1_000)
  jest.advanceTimersByTime(1_000)
  expect(texts(notices)).toEqual([])
})

test('a notice goes when its undo can no longer be done, and when the same is done again', () => {
  const notices = createNotices()
  const undoable = (text: string, name: string) => ({
    ...notice(text),
    undo: () => undefined,
    end: { of: [`/v1/projects/yard/boxes/${name}`], done: [] },
  })
  notices.add(undoable('web is stopped', 'web'), 1_000)
  notices.add(undoable('db is changed', 'db'), 1_000)
  notices.add(undoable('db is changed', 'db'), 1_000)
  notices.add(notice('told'), 1_000)
  expect(texts(notices)).toEqual(['web is stopped', 'db is changed', 'told'])
  notices.take({ type: 'box.deleted', resource: '/v1/projects/yard/boxes/db', ts: '2026-01-31T00:00:00.000Z' })
  expect(texts(notices)).toEqual(['web is stopped', 'told'])
})

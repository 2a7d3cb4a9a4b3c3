import { expect, test } from '@jest/globals'
import { editRecord } from '../../../agent/core/common/edit-record.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'

const clock: Clock = { now: () => 70, sleep: () => Promise.resolve() }
const RECORD = { version: 1, updatedAt: 10, tags: ['a'] }

/** A store of one record. Another client changes it before each of the first `rivals` writes. */
function storeOf(rivals: number) {
  let [stored, left] = [RECORD, rivals]
  return {
    stored: () => stored,
    read: async () => stored,
    write: async (next: typeof RECORD, before: typeof RECORD): Promise<boolean> => {
      if (left-- > 0) stored = { ...stored, version: stored.version + 1, tags: [...stored.tags, 'rival'] }
      if (stored !== before) return false
      stored = next
      return true
    },
  }
}

const withB = (record: typeof RECORD) => ({ ...record, tags: [...record.tags, 'b'] })

test('an edit is written as the next version', async () => {
  const { read, write, stored } = storeOf(0)
  const edited = await editRecord(clock, { read, edit: withB, write })
  expect(edited).toEqual({ version: 2, updatedAt: 70, tags: ['a', 'b'] })
  expect(stored()).toBe(edited)
})

test('it is repeated on concurrent writes, which stay', async () => {
  const { read, write, stored } = storeOf(2)
  await editRecord(clock, { read, edit: withB, write })
  expect(stored()).toEqual({ version: 4, updatedAt: 70, tags: ['a', 'rival', 'rival', 'b'] })
})

test('an edit without a change writes nothing', async () => {
  const { read, write, stored } = storeOf(1)
  expect(await editRecord(clock, { read, edit: (record) => record, write })).toBe(RECORD)
  expect(stored()).toBe(RECORD)
})

test('errors of read, edit and write are passed on', async () => {
  const { read, write } = storeOf(0)
  const refuse = (): never => {
    throw new Error('no')
  }
  await expect(editRecord(clock, { read: async () => refuse(), edit: withB, write })).rejects.toThrow('no')
  await expect(editRecord(clock, { read, edit: refuse, write })).rejects.toThrow('no')
  await expect(editRecord(clock, { read, edit: withB, write: async () => refuse() })).rejects.toThrow('no')
})

import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createValueStreams, type StreamedValue, type ValueStream } from '../../../agent/core/common/value-streams.ts'
import { CALLER } from '../../helpers/caller.ts'
import { check } from '../../helpers/fairness/check.ts'
import { settlePromises } from '../../helpers/fairness/settle.ts'

const anySteps = fc.array(
  fc.record({
    act: fc.constantFrom('open', 'open', 'next', 'value', 'failure', 'leave', 'leave again'),
    pick: fc.nat({ max: 100 }),
  }),
  { maxLength: 50 },
)

interface Reader {
  stream: ValueStream<string>
  isOver: boolean
  isPending: boolean
  /** The current or last read. */
  read(): PromiseWithResolvers<readonly StreamedValue<string>[]> | null
}

/** Opens streams, at most `atOnce` at the same time, and their readers. */
function openReaders(atOnce: number) {
  const clock = { now: () => 0, sleep: async () => undefined }
  const streams = createValueStreams<string>({ clock }, { kind: 'words', atOnce })
  const readers: Reader[] = []
  /** Opens a stream if a share is free. */
  const open = (): void => {
    const held = readers.filter(({ isOver }) => !isOver).length
    const mayOpen = held + 1 <= atOnce - held - 1
    let pending: ReturnType<Reader['read']> = null
    const read = (signal: AbortSignal): Promise<readonly StreamedValue<string>[]> => {
      pending = Promise.withResolvers()
      signal.addEventListener('abort', () => pending?.resolve([]))
      return pending.promise
    }
    const openNow = (): ValueStream<string> => streams.open(CALLER, { read, cursor: () => 'here' })
    if (!mayOpen) assert.throws(openNow, { code: 'rate_limited' })
    else readers.push({ stream: openNow(), isOver: false, isPending: false, read: () => pending })
  }
  const next = async (reader: Reader): Promise<void> => {
    if (reader.isPending) return
    reader.isPending = true
    void reader.stream.next().then(({ done }) => {
      reader.isPending = false
      if (done === true) reader.isOver = true
    })
    await settlePromises()
  }
  const leave = async (reader: Reader): Promise<void> => {
    reader.isOver = true
    void reader.stream.return()
    await settlePromises()
  }
  return { streams, readers, open, next, leave }
}

test('a stream has one share from when it is opened until it ends, in whatever way and however often that is told', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 2, max: 12 }), anySteps, async (atOnce, steps) => {
    const { streams, readers, open, next, leave } = openReaders(atOnce)
    for (const { act, pick } of steps) {
      const reader = readers[pick % Math.max(1, readers.length)]
      if (act === 'open') open()
      if (reader === undefined) continue
      if (act === 'next') await next(reader)
      else if (act === 'value') reader.read()?.resolve([{ cursor: 'here', value: 'word' }])
      else if (act === 'failure') reader.read()?.reject(new Error('failed'))
      else if (act === 'leave' || (act === 'leave again' && reader.isOver)) await leave(reader)
      await settlePromises()
    }
    for (const reader of readers) await leave(reader)
    for (let opened = 0; opened <= atOnce; opened++) open()
    streams.close()
    for (const reader of readers) await next(reader)
    assert.deepEqual(
      readers.filter(({ isOver }) => !isOver),
      [],
      'all end when the streams are closed',
    )
  })
  await check(property, 100)
})

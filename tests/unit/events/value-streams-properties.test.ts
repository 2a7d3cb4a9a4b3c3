import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createValueStreams, type StreamedValue, type ValueStream } from '../../../agent/core/common/value-streams.ts'
import { CALLER } from '../../helpers/caller.ts'
import { check } from '../../helpers/fairness/check.ts'
import { settle } from '../../helpers/fairness/settle.ts'

const anySteps = fc.array(
  fc.record({
    act: fc.constantFrom('open', 'open', 'next', 'value', 'failure', 'revoked', 'leave', 'leave again'),
    pick: fc.nat({ max: 100 }),
  }),
  { maxLength: 50 },
)

interface Reader {
  stream: ValueStream<string>
  isOver: boolean
  isPending: boolean
  read: PromiseWithResolvers<readonly StreamedValue<string>[]> | null
}

test('a stream has one share from when it is opened until it ends, in whatever way and however often that is told', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 2, max: 12 }), anySteps, async (atOnce, steps) => {
    let isRevoked = false
    const checkAlive = async (): Promise<void> => {
      if (isRevoked) throw new Error('revoked')
    }
    const clock = { now: () => 0, sleep: async () => undefined }
    const streams = createValueStreams<string>({ clock, checkAlive }, { kind: 'words', atOnce })
    const readers: Reader[] = []
    const open = (): void => {
      const reader: Reader = {
        stream: { next: assert.fail, return: assert.fail },
        isOver: false,
        isPending: false,
        read: null,
      }
      const read = (signal: AbortSignal): Promise<readonly StreamedValue<string>[]> => {
        reader.read = Promise.withResolvers()
        signal.addEventListener('abort', () => reader.read?.resolve([]))
        return reader.read.promise
      }
      const held = readers.filter(({ isOver }) => !isOver).length
      const mayOpen = held + 1 <= atOnce - held - 1
      try {
        reader.stream = streams.open(CALLER, { read, cursor: () => 'here' })
        readers.push(reader)
        assert.ok(mayOpen, `more than ${held} of ${atOnce} are open`)
      } catch (error) {
        assert.ok(!mayOpen && (error as { code?: string }).code === 'rate_limited', String(error))
      }
    }
    const next = async (reader: Reader): Promise<void> => {
      if (reader.isPending) return
      reader.isPending = true
      void reader.stream.next().then(({ done }) => {
        reader.isPending = false
        if (done === true) reader.isOver = true
      })
      await settle()
    }
    const leave = async (reader: Reader): Promise<void> => {
      reader.isOver = true
      void reader.stream.return()
      await settle()
    }
    for (const { act, pick } of steps) {
      const reader = readers[pick % Math.max(1, readers.length)]
      if (act === 'open') open()
      if (reader === undefined) continue
      if (act === 'next') await next(reader)
      else if (act === 'value') reader.read?.resolve([{ cursor: 'here', value: 'word' }])
      else if (act === 'failure') reader.read?.reject(new Error('failed'))
      else if (act === 'leave' || (act === 'leave again' && reader.isOver)) await leave(reader)
      else if (act === 'revoked' && !reader.isOver && !reader.isPending) {
        isRevoked = true
        await next(reader)
        isRevoked = false
        // The reader is told, and asks on until the end.
        await next(reader)
      }
      await settle()
    }
    for (const reader of readers) await leave(reader)
    for (const reader of readers) reader.isOver = true
    for (let opened = 0; opened <= atOnce; opened++) open()
    streams.close()
    for (const reader of readers) await next(reader)
    assert.ok(
      readers.every(({ isOver }) => isOver),
      'all end when the streams are closed',
    )
  })
  await check(property, 100)
})

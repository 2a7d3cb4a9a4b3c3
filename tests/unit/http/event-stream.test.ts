import { beforeEach, describe, expect, test } from '@jest/globals'
import { createValueStreams, type StreamedValue, type ValueStreams } from '../../../agent/core/common/value-streams.ts'
import { encodeEventStream } from '../../../agent/handlers/common/event-stream.ts'
import { bytesUntilEnded } from '../../../agent/server/open-requests.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { CALLER } from '../../helpers/caller.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const time = createFakeTime()
let streams: ValueStreams<number>
/** Makes the next read. The stream calls it once per read. */
let read: (signal: AbortSignal) => Promise<readonly StreamedValue<number>[]>
let cursor: string

beforeEach(() => {
  cursor = 'c0'
  streams = createValueStreams({ clock: time.clock }, { kind: 'numbers', atOnce: 2 })
})

function open() {
  const source = { read: (signal: AbortSignal) => read(signal), cursor: () => cursor }
  return encodeEventStream(streams.open(CALLER, source), (value) => ({ value }))
}

async function textOf(stream: ReturnType<typeof open>): Promise<string | null> {
  const step = await stream.next()
  return step.done === true ? null : Buffer.from(step.value).toString()
}

/** Waits until the stream ends, as a source without values does. */
async function untilAborted(signal: AbortSignal): Promise<[]> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return []
}

describe('a stream of events', () => {
  test('begins before anything is read, and sends what one read gave as one piece', async () => {
    let reads = 0
    read = async () => {
      reads += 1
      return [
        { cursor: 'c1', value: 1 },
        { cursor: 'c2', value: 2 },
      ]
    }
    const stream = open()
    expect([await textOf(stream), reads]).toEqual(['retry: 1000\n\n', 0])
    const both = 'id: c1\ndata: {"value":1}\n\nid: c2\ndata: {"value":2}\n\n'
    expect([await textOf(stream), reads]).toEqual([both, 1])
  })

  test('says after 15 s without a value that it is still here, and where to resume', async () => {
    let reads = 0
    read = async () => {
      if (++reads === 3) cursor = 'c9'
      time.advance(5_000)
      return []
    }
    const stream = open()
    await textOf(stream)
    expect([await textOf(stream), reads]).toEqual(['id: c9\n: still here\n\n', 3])
    expect([await textOf(stream), reads]).toEqual(['id: c9\n: still here\n\n', 6])
  })

  test('ends with the error of its source', async () => {
    read = async () => {
      throw new ServiceError('cursor_expired', 'They are gone.')
    }
    const failed = open()
    await textOf(failed)
    const problem = 'id: c0\nevent: problem\ndata: {"code":"cursor_expired","detail":"They are gone."}\n\n'
    expect([await textOf(failed), await textOf(failed)]).toEqual([problem, null])
  })

  test('tells as its last piece that its token has ended, and leaves the resumption as it was', async () => {
    read = untilAborted
    const end = new AbortController()
    const stream = bytesUntilEnded(open(), end.signal)
    const next = async (): Promise<unknown> => String((await stream.next()).value)
    expect(await next()).toBe('retry: 1000\n\n')
    const told = next()
    end.abort(new ServiceError('token_revoked', 'The token was revoked.'))
    expect(await told).toBe('event: problem\ndata: {"code":"token_revoked","detail":"The token was revoked."}\n\n')
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    // Its share is free again.
    await open().return?.()
  })

  test('ends the read under way, and frees its share, as soon as its reader leaves', async () => {
    read = untilAborted
    const stream = open()
    await textOf(stream)
    const pending = textOf(stream)
    expect(open).toThrow(expect.objectContaining({ code: 'rate_limited' }))
    await stream.return?.()
    expect(await pending).toBeNull()
    await open().return?.()
    expect(await textOf(open())).toBe('retry: 1000\n\n')
  })

  test('frees its share if a value cannot be shown', async () => {
    read = async () => [{ cursor: 'c1', value: 1 }]
    const source = { read, cursor: () => cursor }
    const stream = encodeEventStream(streams.open(CALLER, source), () => {
      throw new Error('unseen')
    })
    await stream.next()
    await expect(stream.next()).rejects.toThrow('unseen')
    await open().return?.()
  })

  test('ends when the streams are closed, and at once if it is opened later', async () => {
    read = untilAborted
    const stream = open()
    await textOf(stream)
    const pending = textOf(stream)
    streams.close()
    expect(await pending).toBeNull()
    const late = open()
    expect([await textOf(late), await textOf(late)]).toEqual(['retry: 1000\n\n', null])
  })
})

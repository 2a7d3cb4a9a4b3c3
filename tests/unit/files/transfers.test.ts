import { describe, expect, test } from '@jest/globals'
import { packedBytes } from '../../../agent/drivers/files/archives.ts'
import { openedFile } from '../../../agent/drivers/files/open-file.ts'
import { createFileTransfers, FILE_LIMITS } from '../../../agent/drivers/files/transfers.ts'

const REFUSED = expect.objectContaining({ code: 'rate_limited', headers: { 'Retry-After': '1' } })

/** Counts the transfers that can still begin for a box. */
function roomOf(transfers: ReturnType<typeof createFileTransfers>, boxId = 'box_a'): number {
  const taken: (() => void)[] = []
  try {
    for (;;) taken.push(transfers.acquire({ boxId }))
  } catch (error) {
    expect(error).toEqual(REFUSED)
  }
  for (const leave of taken) leave()
  return taken.length
}

describe('long transfers of files', () => {
  test('have a limit for one box, and for all', () => {
    const transfers = createFileTransfers()
    expect(FILE_LIMITS).toEqual({ perBox: 16, total: 128 })
    for (let box = 0; box < 8; box++) for (let i = 0; i < 16; i++) transfers.acquire({ boxId: `box_${box}` })
    expect(() => transfers.acquire({ boxId: 'box_0' })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^The box/) }),
    )
    expect(() => transfers.acquire({ boxId: 'box_other' })).toThrow(REFUSED)
  })

  test('count until they end, and end once', () => {
    const transfers = createFileTransfers({ perBox: 2, total: 3 })
    const leave = transfers.acquire({ boxId: 'box_a' })
    transfers.acquire({ boxId: 'box_a' })
    expect(() => transfers.acquire({ boxId: 'box_a' })).toThrow(REFUSED)
    expect(roomOf(transfers, 'box_b')).toBe(1)
    leave()
    leave()
    expect(roomOf(transfers)).toBe(1)
    expect(roomOf(transfers, 'box_b')).toBe(2)
  })

  test('count while their work goes on, however it ends', async () => {
    const transfers = createFileTransfers({ perBox: 1, total: 9 })
    const { promise, resolve } = Promise.withResolvers<string>()
    const work = transfers.run({ boxId: 'box_a' }, () => promise)
    let isBegun = false
    const begin = async (): Promise<void> => {
      isBegun = true
    }
    await expect(transfers.run({ boxId: 'box_a' }, begin)).rejects.toEqual(REFUSED)
    expect(isBegun).toBe(false)
    resolve('done')
    expect(await work).toBe('done')
    await expect(transfers.run({ boxId: 'box_a' }, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    const fails = (): Promise<void> => {
      throw new Error('failed at once')
    }
    await expect(transfers.run({ boxId: 'box_a' }, fails)).rejects.toThrow('failed at once')
    expect(roomOf(transfers)).toBe(1)
  })
})

/** A task that sends `messages`, fails at the first error among them, and closes when it ends. */
function channelOf<Sent>(...messages: readonly (Sent | Error)[]) {
  const closed = Promise.withResolvers<void>()
  const left = [...messages]
  return {
    receive: async (): Promise<Sent | null> => {
      const value = left.shift() ?? null
      if (value instanceof Error) throw value
      return value
    },
    send: async () => undefined,
    result: async () => null as never,
    end: async () => closed.resolve(),
    closed: closed.promise,
  }
}

describe('an archive that is read', () => {
  const begin = async (...messages: (Uint8Array | Error)[]) => {
    const transfers = createFileTransfers({ perBox: 1, total: 1 })
    const bytes = await packedBytes(channelOf(...messages), transfers.acquire({ boxId: 'box_a' }))
    expect(roomOf(transfers)).toBe(0)
    return { transfers, bytes: bytes[Symbol.asyncIterator]() }
  }
  const chunk = Buffer.from('chunk')

  test('counts until its end was read', async () => {
    const { transfers, bytes } = await begin(chunk, chunk)
    await bytes.next()
    await bytes.next()
    expect(roomOf(transfers)).toBe(0)
    expect(await bytes.next()).toEqual({ done: true, value: undefined })
    expect(roomOf(transfers)).toBe(1)
  })

  test('counts until it fails', async () => {
    const { transfers, bytes } = await begin(chunk, new Error('failed'))
    await bytes.next()
    await expect(bytes.next()).rejects.toThrow('failed')
    expect(roomOf(transfers)).toBe(1)
  })

  test('counts until its reader leaves, even before the start', async () => {
    const { transfers, bytes } = await begin(chunk, chunk)
    await bytes.return?.()
    expect(roomOf(transfers)).toBe(1)
  })
})

describe('a large file that is open', () => {
  const large = { act: 'opened', facts: { sizeBytes: 100_000 } as never, fd: -1, hasHoles: false } as const

  test('counts from when it is read until it is closed', async () => {
    const transfers = createFileTransfers({ perBox: 1, total: 1 })
    const channel = channelOf(large)
    const file = await openedFile(channel, {
      path: '/file',
      acquire: () => transfers.acquire({ boxId: 'box_a' }),
      onDisk: (call) => call(),
    })
    expect(roomOf(transfers)).toBe(1)
    file.read({ start: 0, end: 1 })
    expect(roomOf(transfers)).toBe(0)
    file.close()
    await channel.closed
    expect(roomOf(transfers)).toBe(1)
  })

  test('has its facts, and is closed, if it may not be read', async () => {
    const transfers = createFileTransfers({ perBox: 0, total: 1 })
    const channel = channelOf(large)
    const file = await openedFile(channel, {
      path: '/file',
      acquire: () => transfers.acquire({ boxId: 'box_a' }),
      onDisk: (call) => call(),
    })
    expect(file.facts).toBe(large.facts)
    expect(() => file.read({ start: 0, end: 1 })).toThrow(REFUSED)
    file.close()
    await channel.closed
  })
})

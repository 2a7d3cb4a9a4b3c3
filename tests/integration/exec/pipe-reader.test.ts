import { createHash, randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { readPipe } from '../../../agent/lib/output/pipe-reader.ts'
import { openPipe, widenPipe } from '../../../agent/lib/syscalls/descriptors.ts'

function openWriter(): { reader: AsyncGenerator<Uint8Array>; writer: Socket } {
  const { readFd, writeFd } = openPipe()
  widenPipe(readFd, MIB)
  const writer = new Socket({ fd: writeFd, readable: false, writable: true })
  writer.on('error', () => undefined)
  return { reader: readPipe(readFd, 4 * MIB), writer }
}

describe('a pipe reader', () => {
  test('yields all written bytes, in pieces that stay unchanged', async () => {
    const { reader, writer } = openWriter()
    const bytes = randomBytes(30 * MIB + 7)
    writer.end(bytes)
    const pieces: Uint8Array[] = []
    for await (const piece of reader) pieces.push(piece)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(MIB)
    const digest = (all: Uint8Array): string => createHash('sha256').update(all).digest('hex')
    expect(digest(Buffer.concat(pieces))).toBe(digest(bytes))
  })

  test('ends with a writer that wrote nothing', async () => {
    const { reader, writer } = openWriter()
    writer.end()
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })

  test('reads no further ahead than its limit', async () => {
    const { reader, writer } = openWriter()
    const bytes = Buffer.alloc(MIB)
    let [written, isFree] = [0, true]
    const write = (): void => {
      while (isFree && written < 64) {
        isFree = writer.write(bytes, () => {
          isFree = true
          write()
        })
        written++
      }
    }
    write()
    let taken = (await reader.next()).value?.length ?? 0
    await pause(200)
    // Read-ahead, the pipe's content, and the piece that waits for its write.
    expect(written).toBeLessThanOrEqual(4 + 1 + 1 + 2)
    for (; taken < 64 * MIB; taken += (await reader.next()).value?.length ?? 0) expect(written).toBeGreaterThan(0)
    expect(taken).toBe(64 * MIB)
    writer.destroy()
    expect((await reader.next()).done).toBe(true)
  })

  test('closes the pipe when its loop is left', async () => {
    const { reader, writer } = openWriter()
    const closed = new Promise((resolve) => writer.once('close', resolve))
    writer.write(Buffer.alloc(64 * MIB))
    for await (const piece of reader) if (piece.length > 0) break
    // The writer gets EPIPE, because nothing reads any longer.
    await closed
  })
})

const MIB = 1024 ** 2

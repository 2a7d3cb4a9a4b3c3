import { Hash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { openS3Store } from '../../agent/drivers/backups/store-s3.ts'
import { defineBackupStoreSuite, piecesOf } from '../contract/backups/store-suite.ts'
import { type ObjectStore, startObjectStore } from '../helpers/backups/object-store.ts'
import { openCuttableLine } from '../helpers/front/cuttable-line.ts'

let server: ObjectStore
let runs = 0

beforeAll(async () => {
  server = await startObjectStore()
})
afterAll(() => server.close())

defineBackupStoreSuite('s3', async () => {
  runs += 1
  const place = { ...server.place, prefix: `run-${runs}/inner` }
  const store = await openS3Store(place)
  return { store, reopen: () => openS3Store(place), close: () => store.close() }
})

describe('an S3 endpoint', () => {
  test('that drops connections in the middle is retried, in both directions', async () => {
    const line = await openCuttableLine('127.0.0.1', server.port)
    const store = await openS3Store({ ...server.place, endpoint: `http://127.0.0.1:${line.port}`, attempts: 8 })
    // Fewer drops than a request has attempts, even on the slowest machine.
    let drops = 0
    const dropping = setInterval(() => ++drops <= 6 && line.drop(), 100)
    try {
      const bytes = randomBytes(60_000_000)
      const { signal } = new AbortController()
      await store.put('dropped', piecesOf(bytes, 400_000), signal)
      const read: Uint8Array[] = []
      for await (const piece of (await store.get('dropped', signal)) ?? []) read.push(piece)
      expect(Buffer.concat(read).equals(bytes)).toBe(true)
    } finally {
      clearInterval(dropping)
      await store.close()
      await line.close()
    }
  })

  test('gets long objects in short steps: nothing hashes or sends a whole block at once', async () => {
    const store = await openS3Store({ ...server.place, prefix: 'steps' })
    let most = 0
    let bytes = 0
    const note = (piece: unknown): void => {
      if (!(piece instanceof Uint8Array)) return
      most = Math.max(most, piece.length)
      bytes += piece.length
    }
    const { update } = Hash.prototype
    const { write } = Socket.prototype
    const hashed = jest.spyOn(Hash.prototype, 'update').mockImplementation(function (this: Hash, ...given: unknown[]) {
      note(given[0])
      return update.apply(this, given as never)
    })
    const sent = jest.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...given: unknown[]) {
      note(given[0])
      return write.apply(this, given as never)
    })
    try {
      for (const length of [5_000_000, 20_000_000]) {
        await store.put(`of-${length}`, piecesOf(randomBytes(length)))
        // Each piece is hashed as a whole and by block, and then sent.
        expect(bytes).toBeGreaterThanOrEqual(3 * length)
        expect(most).toBeLessThanOrEqual(256 * 1024)
      }
    } finally {
      hashed.mockRestore()
      sent.mockRestore()
      await store.close()
    }
  })

  test('that is down or never answers is an error after a bounded wait', async () => {
    const line = await openCuttableLine('127.0.0.1', server.port)
    const place = { ...server.place, endpoint: `http://127.0.0.1:${line.port}`, attempts: 2, timeoutMs: 300 }
    const store = await openS3Store(place)
    for (const how of ['refuse', 'hang'] as const) {
      await line.cut(how)
      await expect(store.put('a', piecesOf(Buffer.from('x')))).rejects.toMatchObject({ code: 'internal' })
      await expect(store.get('a')).rejects.toMatchObject({ code: 'internal' })
      await expect(store.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'internal' })
      await line.mend()
    }
    await store.close()
    const patient = await openS3Store({ ...place, timeoutMs: 10_000 })
    await patient.put('a', piecesOf(Buffer.from('x')))
    await patient.close()
    await line.close()
  })

  test('that keeps objects as files takes writes while others empty their directory', async () => {
    const store = await openS3Store({ ...server.place, prefix: 'emptied' })
    const write = async (name: string): Promise<void> => {
      for (let round = 0; round < 100; round++) {
        await store.put(`deep/${name}/${round}/object`, piecesOf(Buffer.from(name)))
        await store.delete(`deep/${name}/${round}/object`)
      }
    }
    await Promise.all(['a', 'b', 'c', 'd'].map(write))
    await store.close()
  })

  test('that refuses the keys is an error that does not contain them', async () => {
    const keys = { ...server.place.keys, secretAccessKey: 'not-the-secret' }
    const store = await openS3Store({ ...server.place, keys, attempts: 1 })
    const error = await store.put('a', piecesOf(Buffer.from('x'))).then(
      () => null,
      (reason: Error) => reason,
    )
    expect(error).toMatchObject({ code: 'internal' })
    const told = `${error?.stack} ${String(error?.cause)} ${JSON.stringify(error)}`
    expect(told).toContain('SignatureDoesNotMatch')
    expect(told).not.toMatch(/not-the-secret|test-key/)
    await store.close()
  })

  test('keeps objects under the prefix, and no parts of aborted uploads', async () => {
    const store = await openS3Store(server.place)
    await store.put('named', piecesOf(Buffer.from('x')))
    expect(readdirSync(join(server.bucketPath, 'deep/er'))).toContain('named')
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield randomBytes(20_000_000)
      throw new Error('broke off')
    }
    await expect(store.put('broken', broken())).rejects.toThrow()
    expect(
      readdirSync(server.bucketPath, { recursive: true }).filter((name) => String(name).includes('broken')),
    ).toEqual([])
    await store.close()
  })
})

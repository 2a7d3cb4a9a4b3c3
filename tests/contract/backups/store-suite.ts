import { createHash, randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { BackupStore } from '../../../agent/ports/backups/store.ts'

/** A store under test and ways to reopen it. */
export interface StoreLab {
  store: BackupStore
  /** Opens another store over the same directory or bucket. */
  reopen(): Promise<BackupStore>
  close(): Promise<void>
}

/** Defines the contract tests of every backup store. */
export function defineBackupStoreSuite(kind: string, open: () => Promise<StoreLab>): void {
  let lab: StoreLab
  let store: BackupStore

  beforeEach(async () => {
    lab = await open()
    store = lab.store
  })
  afterEach(() => lab.close())

  const names = async (prefix: string): Promise<string[]> => {
    const found: string[] = []
    for await (const { name } of store.list(prefix)) found.push(name)
    return found.sort()
  }

  describe(`a ${kind} of backups`, () => {
    test('returns objects of any size as they were put, also after a reopen', async () => {
      expect(store.kind).toBe(kind)
      const other = await lab.reopen()
      for (const length of [0, 1, 5_000_000, 8 * MIB, 8 * MIB + 1, 19_000_000]) {
        const bytes = randomBytes(length)
        await store.put(`a/b/size-${length}`, piecesOf(bytes, 300_001))
        expect(await digestOf(await other.get(`a/b/size-${length}`))).toBe(digest(bytes))
        const held = { sizeBytes: length, sha256: digest(bytes) }
        expect(await other.digest(`a/b/size-${length}`)).toEqual(held)
      }
      const sizes: [string, number][] = []
      for await (const { name, sizeBytes } of store.list('a/b/size-1')) sizes.push([name, sizeBytes])
      expect(sizes.sort()).toEqual([
        ['a/b/size-1', 1],
        ['a/b/size-19000000', 19_000_000],
      ])
      await other.close()
    })

    test('has the latest object put under a name', async () => {
      await store.put('one', piecesOf(Buffer.from('first, and longer')))
      await store.put('one', piecesOf(Buffer.from('second')))
      expect(await textOf(await store.get('one'))).toBe('second')
    })

    test('lists by prefix at every depth, without deleted objects', async () => {
      expect(await names('')).toEqual([])
      for (const name of ['p/a/1', 'p/a/2', 'p/ab/3', 'q/deep/er/4', 'top'])
        await store.put(name, piecesOf(Buffer.from(name)))
      expect(await names('')).toEqual(['p/a/1', 'p/a/2', 'p/ab/3', 'q/deep/er/4', 'top'])
      expect(await names('p/a')).toEqual(['p/a/1', 'p/a/2', 'p/ab/3'])
      expect(await names('p/a/')).toEqual(['p/a/1', 'p/a/2'])
      expect(await names('q/deep/er/4')).toEqual(['q/deep/er/4'])
      expect(await names('nothing/here/')).toEqual([])
    })

    test('deletes, and succeeds when it deletes again', async () => {
      for (const name of ['d/1', 'd/2']) await store.put(name, piecesOf(Buffer.from(name)))
      await store.delete('d/1')
      await store.delete('d/1')
      expect([await store.get('d/1'), await store.digest('d/1')]).toEqual([null, null])
      expect(await names('')).toEqual(['d/2'])
      await store.delete('d/2')
      expect(await names('')).toEqual([])
      await store.delete('never/was')
    })

    test('keeps the earlier object when a put breaks off', async () => {
      await store.put('kept/part', piecesOf(Buffer.from('whole')))
      for (const length of [10, 9 * MIB]) {
        await expect(store.put('kept/part', breakOff(length))).rejects.toMatchObject({ code: 'internal' })
        await expect(store.put('kept/new', breakOff(length))).rejects.toMatchObject({ code: 'internal' })
      }
      expect(await textOf(await store.get('kept/part'))).toBe('whole')
      expect(await names('')).toEqual(['kept/part'])
    })

    test('ends a put whose signal aborts', async () => {
      const ending = new AbortController()
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        for (let sent = 0; ; sent += 1) {
          if (sent === 20) ending.abort(new Error('the agent ends'))
          yield randomBytes(MIB)
        }
      }
      await expect(store.put('cut', endless(), ending.signal)).rejects.toThrow()
      expect(await store.get('cut')).toBeNull()
    })

    test('refuses names that lead outside', async () => {
      for (const name of [
        '',
        '/etc',
        'a//b',
        '../up',
        'a/../b',
        '.hidden',
        'a/.',
        'a b',
        'x'.repeat(200),
        '1/2/3/4/5/6/7/8/9',
      ]) {
        await expect(store.put(name, piecesOf(Buffer.from('x')))).rejects.toThrow()
        await expect(store.get(name)).rejects.toThrow()
        await expect(store.delete(name)).rejects.toThrow()
      }
      expect(await names('')).toEqual([])
    })

    test('releases objects that are not read to their end', async () => {
      await store.put('long', piecesOf(randomBytes(20 * MIB)))
      for (let reads = 0; reads < 20; reads++) {
        for await (const piece of (await store.get('long')) ?? []) if (piece.length > 0) break
      }
      expect(await digestOf(await store.get('long'))).toHaveLength(64)
    })
  })
}

/** Yields `bytes` in pieces of `length` bytes. */
export async function* piecesOf(bytes: Uint8Array, length = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function* breakOff(length: number): AsyncGenerator<Uint8Array> {
  yield randomBytes(length)
  throw new Error('the source broke off')
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function bytesOf(pieces: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  if (pieces === null) throw new Error('no such object')
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function textOf(pieces: AsyncIterable<Uint8Array> | null): Promise<string> {
  return (await bytesOf(pieces)).toString()
}

async function digestOf(pieces: AsyncIterable<Uint8Array> | null): Promise<string> {
  return digest(await bytesOf(pieces))
}

const MIB = 1024 ** 2

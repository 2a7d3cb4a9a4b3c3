import { beforeEach, describe, expect, test } from '@jest/globals'
import { removeRestoreLeftovers, restoreFile } from '../../../agent/core/files/restores.ts'
import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const box = boxRecord()
const root = { boxId: box.id, rootPath: '/pool/root', mounts: [] }
const roots = { root, from: {} as never, rootNow: async () => ({ ...root }) }
let notes: Map<string, string>
let removed: string[]
/** Side effect of `Files.restore` and `Files.remove`. */
let work: () => void
let isThere: boolean

beforeEach(() => {
  notes = new Map()
  removed = []
  isThere = true
  work = () => undefined
})

const store = {
  boxes: { byId: async () => (isThere ? box : null) },
  meta: {
    list: async (prefix: string) =>
      [...notes].flatMap(([key, value]) => (key.startsWith(prefix) ? [{ key, value }] : [])),
    set: async (key: string, value: string) => void notes.set(key, value),
    remove: async (key: string) => void notes.delete(key),
  },
} as never
const files = {
  restore: async () => work(),
  remove: async (_root: unknown, path: Uint8Array) => {
    removed.push(Buffer.from(path).toString('latin1'))
    work()
  },
} as never
const deps = { store, files, filesystem: { path: (name: string) => `/pool/${name}` } as never, logger: silentLogger }
const restore = (path: string | Uint8Array) => restoreFile(deps, roots, Buffer.from(path))
const failing = (code: ErrorCode) => (): never => {
  throw new ServiceError(code, 'it was refused')
}

/** Leaves the state of an agent that was killed during a restore. */
async function cutOff(path: string | Uint8Array): Promise<void> {
  let kept = new Map<string, string>()
  work = () => {
    kept = new Map(notes)
  }
  await restore(path)
  expect(kept.size).toBe(1)
  for (const [key, value] of kept) notes.set(key, value)
  work = () => undefined
}

describe('the draft of a restore of a path', () => {
  test('is recorded only while the restore runs, however it ends', async () => {
    await restore('/a')
    expect(notes.size).toBe(0)
    work = failing('storage_full')
    await expect(restore('/a')).rejects.toMatchObject({ code: 'storage_full' })
    expect(notes.size).toBe(0)
  })

  test('ends in an error, and is not recorded, if the box has another root by then', async () => {
    const rootNow = async () => ({ ...root, rootPath: '/pool/another' })
    const moved = restoreFile(deps, { ...roots, rootNow }, Buffer.from('/a'))
    await expect(moved).rejects.toMatchObject({ code: 'box_busy' })
    expect(notes.size).toBe(0)
  })

  test.each([
    ['/a', /^\/\.boxyard-[0-9a-f]{16}$/],
    ['/deep/er/', /^\/deep\/\.boxyard-[0-9a-f]{16}$/],
    [Buffer.from('/\xff/x', 'latin1'), /^\/\xff\/\.boxyard-[0-9a-f]{16}$/],
  ])('is removed by the next start, beside %s', async (path, expected) => {
    await cutOff(path)
    await removeRestoreLeftovers(deps)
    expect(removed).toEqual([expect.stringMatching(expected)])
    expect(notes.size).toBe(0)
    await removeRestoreLeftovers(deps)
    expect(removed).toHaveLength(1)
  })

  test('is dropped with its box, or if it is missing', async () => {
    await cutOff('/a')
    work = failing('file_not_found')
    await removeRestoreLeftovers(deps)
    expect([removed.length, notes.size]).toEqual([1, 0])
    await cutOff('/b')
    isThere = false
    await removeRestoreLeftovers(deps)
    expect([removed.length, notes.size]).toEqual([1, 0])
  })

  test('is removed by a retry if the removal fails', async () => {
    await cutOff('/a')
    work = failing('box_busy')
    await removeRestoreLeftovers(deps)
    expect(notes.size).toBe(1)
    work = () => undefined
    await removeRestoreLeftovers(deps)
    expect(notes.size).toBe(0)
  })
})

import fs from 'node:fs'
import { setImmediate as nextRound } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { digestFile as DigestFile } from '../../../agent/drivers/backups/digest-file.ts'
import { backupOwnerOf } from '../../../shared/backup-manifest.ts'
import { LOOP_TURNS } from '../../../shared/flow-turns.ts'

const NAME = 'projects/demo/volumes/vol_a/bak_a/part-0'

/** Results of the next reads, in order. */
let reads: (() => Promise<number>)[]
let digestFile: typeof DigestFile
let readBytes: number

beforeAll(async () => {
  const read = Object.assign(() => undefined, {
    [promisify.custom]: async () => ({ bytesRead: (await reads.shift()?.()) ?? 0 }),
  })
  const { read: real } = fs
  // The module reads `fs.read` only once, while it loads.
  Object.assign(fs, { read })
  const module = await import('../../../agent/drivers/backups/digest-file.ts')
  Object.assign(fs, { read: real })
  digestFile = module.digestFile
  readBytes = module.READ_BYTES
})

/** Makes the project's bytes wait for many rounds of the event loop. */
beforeEach(() => {
  const flow = LOOP_TURNS.open(backupOwnerOf(NAME), { hold: () => undefined, release: () => undefined })
  for (let index = 0; index < 4; index++) flow.count(8 * 1024 ** 2)
  flow.close()
})

describe('the digest of an object', () => {
  test('fails with the error of a read that was ahead while it waited for its turn', async () => {
    let hasFailed = false
    const fail = async (): Promise<number> => {
      await nextRound()
      hasFailed = true
      throw new Error('EIO')
    }
    reads = [async () => readBytes, fail]
    let isSettled = false
    const digest = digestFile(-1, NAME, undefined).finally(() => {
      isSettled = true
    })
    digest.catch(() => undefined)
    while (!hasFailed) await nextRound()
    await nextRound()
    expect(isSettled).toBe(false)
    await expect(digest).rejects.toThrow('EIO')
  })

  test('ends with its signal, but not before the read that is under way', async () => {
    const last = Promise.withResolvers<number>()
    reads = [async () => readBytes, () => last.promise]
    const ending = new AbortController()
    let isSettled = false
    const digest = digestFile(-1, NAME, ending.signal).finally(() => {
      isSettled = true
    })
    digest.catch(() => undefined)
    while (reads.length > 0) await nextRound()
    ending.abort(new Error('the agent ends'))
    for (let round = 0; round < 200; round++) await nextRound()
    expect(isSettled).toBe(false)
    last.resolve(readBytes)
    await expect(digest).rejects.toThrow('the agent ends')
  })
})

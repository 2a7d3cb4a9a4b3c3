import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type CopyBounds, copyDirectory } from '../../../agent/drivers/files/copying-tree.ts'
import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'
import { O, openBelow } from '../../../agent/lib/syscalls/files.ts'
import { AT } from '../../../agent/lib/syscalls/mounts.ts'

let scratch: string

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-copy-'))
  for (const path of ['from/a/b', 'from/c', 'to']) mkdirSync(join(scratch, path), { recursive: true })
})

afterEach(() => rmSync(scratch, { recursive: true }))

function copy(bounds: CopyBounds): void {
  const fds = ['from', 'to'].map((name) => openBelow(AT.FDCWD, join(scratch, name), { flags: O.PATH | O.DIRECTORY }))
  try {
    const [sourceFd = -1, targetFd = -1] = fds
    const steps = copyDirectory({ mustPause: () => false }, { sourceFd, targetFd, idBase: 0, path: '/tree', bounds })
    while (steps.next().done !== true);
  } finally {
    fds.forEach(closeFd)
  }
}

test('a tree within the bounds is copied', () => {
  copy({ entries: 3, durationMs: 60_000 })
  expect(readdirSync(join(scratch, 'to'), { recursive: true }).sort()).toEqual(['a', 'a/b', 'c'])
})

test('one with more entries is refused, with the limit', () => {
  const error = { code: 'path_invalid', message: expect.stringContaining('/tree: it has more than 2 entries') }
  expect(() => copy({ entries: 2, durationMs: 60_000 })).toThrow(expect.objectContaining(error))
})

test('one that takes longer is refused, with the limit', () => {
  const error = { code: 'path_invalid', message: expect.stringContaining('takes more than -1 s') }
  expect(() => copy({ entries: 3, durationMs: -1_000 })).toThrow(expect.objectContaining(error))
})

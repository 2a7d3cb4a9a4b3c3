import { expect, test } from '@jest/globals'
import { resizeTree } from '../../../agent/core/common/sizes.ts'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3

function refusalOf(usedBytes: number, askedBytes: number): Promise<string> {
  const filesystem: Partial<CowFilesystem> = { usedBytes: () => Promise.resolve(usedBytes) }
  const tree = { name: 'volumes/a', what: 'It' }
  return resizeTree(filesystem as CowFilesystem, tree, askedBytes / GIB).then(
    () => 'none',
    (error: Error) => error.message,
  )
}

test.each([
  ['whole MiB', 300.5 * MIB, 102.5 * MIB, '301 MiB are in use, 103 MiB were asked for'],
  ['small sizes', 0.75 * MIB, 0.5 * MIB, '768 KiB are in use, 512 KiB were asked for'],
  ['sizes in the same MiB', 103.5 * MIB, 103.25 * MIB, '105984 KiB are in use, 105728 KiB were asked for'],
  ['sizes in the same KiB', 1024, 1000, '1024 bytes are in use, 1000 bytes were asked for'],
])('a size below the use is refused with figures that differ: %s', async (_, used, asked, figures) => {
  expect(await refusalOf(used, asked)).toBe(`It holds more than that: ${figures}. Delete files in it, or ask for more.`)
})

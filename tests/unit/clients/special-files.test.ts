import { expect, jest, test } from '@jest/globals'
import { LeftOut, nameSpecialFiles } from '../../../cli/files/special-files.ts'
import type { BoxHandle, Boxyard } from '../../../sdk/typescript/src/boxyard.ts'

test('sockets and devices of a box are found, which no tar has', async () => {
  const files = ['file', 'socket', 'fifo', 'character', 'block', 'directory'].map((type) => ({
    type,
    path: `of/${type}`,
    path_base64: type === 'socket' ? Buffer.from('of/\xe9', 'latin1').toString('base64') : null,
  }))
  const boxyard = { list: () => toAsync(files) } as unknown as Boxyard
  const found: string[] = []
  const box = { project: 'demo', name: 'web' } as BoxHandle
  await nameSpecialFiles({ boxyard, box }, '/srv', (path, kind) => found.push(`${path} ${kind}`))
  expect(found).toEqual(['of/\udce9 socket', 'of/character character', 'of/block block'])
})

test('what is left out is named once, up to 20 paths, and the others are counted', () => {
  const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
  const leftOut = new LeftOut()
  leftOut.add('a\udce9\n', 'socket')
  for (let i = 0; i < 30; i++) leftOut.add(`pipe-${i % 25}`, 'fifo')
  leftOut.report()
  leftOut.report()
  const lines = write.mock.calls.map(([text]) => String(text))
  write.mockRestore()
  expect(lines).toHaveLength(21)
  expect([lines[0], lines[1], lines[20]]).toEqual([
    'boxyard: left out a\\xe9\\x0a (socket).\n',
    'boxyard: left out pipe-0 (FIFO).\n',
    'boxyard: left out 6 more devices, FIFOs and sockets.\n',
  ])
})

async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values
}

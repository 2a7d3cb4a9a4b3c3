import { execFileSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type ArchiveLab, openArchiveLab, packOf, tar, unpackTo, type View } from '../../helpers/bases/archive-lab.ts'
import { draw } from '../../helpers/sample.ts'

describe('archives', () => {
  let lab: ArchiveLab
  beforeAll(async () => {
    lab = await openArchiveLab()
  })
  afterAll(async () => {
    await lab.close()
  })

  describe.each(draw<View>(['runs', 'stopped'], 1))('of a box that %s', (view) => {
    test('files with holes keep them, to and from tar', async () => {
      const { path, onHost } = lab.newInBox()
      fillSparse(onHost)
      const archive = await packOf(lab, view, path)
      expect(archive.length).toBeLessThan(3 * 1024 ** 2)
      const theirs = lab.newDirectory()
      await tar(theirs, ['-xf', '-'], archive)
      execFileSync('diff', ['-r', onHost, theirs])
      expect(statSync(`${theirs}/middle`).blocks).toBeLessThan(100)
      for (const format of [
        ['--format=gnu'],
        ...['0.0', '0.1', '1.0'].map((each) => ['--format=pax', `--sparse-version=${each}`]),
      ]) {
        const into = lab.newInBox()
        await unpackTo(lab, view, { path: into.path, archive: await tar(onHost, ['-S', ...format, '-cf', '-', '.']) })
        execFileSync('diff', ['-r', onHost, into.onHost])
        expect(statSync(`${into.onHost}/middle`).blocks).toBeLessThan(100)
      }
      const back = lab.newInBox()
      await unpackTo(lab, view, { path: back.path, archive, pieceBytes: 700 })
      execFileSync('diff', ['-r', onHost, back.onHost])
      expect(statSync(`${back.onHost}/middle`).blocks).toBeLessThan(100)
    })
  })
})

/** Writes files of 200 MB with holes at the start, at the end, between data, and everywhere. */
function fillSparse(directory: string): void {
  const size = 200_000_001
  const files = { start: [size - 1], end: [0], middle: [0, 5_000_000, 9_000_000, size - 1], hole: [] }
  for (const [name, places] of Object.entries(files)) {
    const fd = openSync(`${directory}/${name}`, 'w')
    for (const place of places) writeSync(fd, 'x', place)
    ftruncateSync(fd, size)
    closeSync(fd)
  }
}

import { linkSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { OpenFile } from '../../../agent/ports/files/files.ts'
import { type ArchiveLab, openArchiveLab, packOf, tar, unpackTo, type View } from '../../helpers/bases/archive-lab.ts'
import { listFilePage } from '../../helpers/files/lab.ts'

describe('concurrent file transfers of one box', () => {
  let lab: ArchiveLab
  beforeAll(async () => {
    lab = await openArchiveLab()
  })
  afterAll(async () => {
    await lab.close()
  })

  describe.each<View>(['runs', 'stopped'])('if it %s', (view) => {
    test('more names than are kept are still separate files', async () => {
      const { path, onHost } = lab.newInBox()
      const inside = Array.from({ length: 14 }, () => 'd'.repeat(250)).join('/')
      mkdirSync(`${onHost}/${inside}`, { recursive: true })
      // At about 3,670 bytes each, these exceed 4 MiB.
      const names = Array.from({ length: 1300 }, (_, i) => `${inside}/${String(i).padStart(4, '0')}`)
      for (const name of names) {
        writeFileSync(`${onHost}/${name}`, name.slice(-4))
        linkSync(`${onHost}/${name}`, `${onHost}/${name}-too`)
      }
      const target = lab.newDirectory()
      await tar(target, ['-xf', '-'], await packOf(lab, view, path))
      const isLinked = names.map((name) => statSync(`${target}/${name}`).nlink === 2)
      const kept = isLinked.indexOf(false)
      expect(kept).toBeGreaterThan(1100)
      expect(kept).toBeLessThan(1190)
      expect(isLinked.slice(kept)).not.toContain(true)
      for (const name of names)
        for (const each of [name, `${name}-too`]) expect(readFileSync(`${target}/${each}`, 'utf8')).toBe(name.slice(-4))
    })

    test('a seventeenth transfer is refused until one of the others has ended', async () => {
      const { path, onHost } = lab.newInBox()
      truncateSync((writeFileSync(`${onHost}/large`, ''), `${onHost}/large`), 64 * 1024 ** 2)
      writeFileSync(`${onHost}/small`, 'small')
      const place = lab.places[view]
      const into = (name: string): Buffer => Buffer.from(`${path}/${name}`)
      const packs = [await lab.files.pack(place, Buffer.from(path)), await lab.files.pack(place, Buffer.from(path))]
      const open = () => lab.files.open(place, into('large'))
      const reads = await Promise.all(Array.from({ length: 14 }, open))
      for (const each of reads) each.read({ start: 0, end: 1 })
      const wish = { mode: null, parents: false, ifMatch: null, ifNoneMatch: false }
      const write = (size: number) => lab.files.write(place, into('new'), wish, only(Buffer.alloc(size)))
      const list = (depth: number) => listFilePage(lab.files, { place, path, depth })
      for (const attempt of [
        () => packOf(lab, view, path),
        () => unpackTo(lab, view, { path, archive: Buffer.alloc(1024) }),
        () => openAndRead(open),
        () => write(100_000),
        () => list(2),
        () => lab.files.remove(place, into('small'), { recursive: true }),
      ])
        await expect(attempt()).rejects.toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' } })
      const asked = await open()
      expect(asked.facts.sizeBytes).toBe(64 * 1024 ** 2)
      asked.close()
      expect((await lab.files.open(place, into('small'))).whole).toEqual(new Uint8Array(Buffer.from('small')))
      await write(1000)
      await list(1)
      // One transfer of each kind ends. Failed ones do not count.
      await packs[0]?.[Symbol.asyncIterator]().return?.()
      await expect(packOf(lab, view, '/none')).rejects.toMatchObject({ code: 'file_not_found' })
      await write(100_000)
      await list(2)
      for (const file of reads) file.close()
      await packs[1]?.[Symbol.asyncIterator]().return?.()
      await lab.files.remove(place, Buffer.from(path), { recursive: true })
    })
  })
})

async function openAndRead(open: () => Promise<OpenFile>): Promise<void> {
  const file = await open()
  try {
    file.read({ start: 0, end: 1 })
  } finally {
    file.close()
  }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

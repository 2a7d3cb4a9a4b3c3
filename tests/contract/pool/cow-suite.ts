import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'

/** A pool under test. */
export interface CowLab {
  /** Has the subvolume `base`, whose content is `base`. */
  filesystem: CowFilesystem
  read(name: string): string
  write(name: string, content: string): void
  close(): Promise<void>
}

/** Defines the contract tests of every pool, including pools that keep no files on a disk. */
export function defineCowSuite(kind: string, open: () => Promise<CowLab>): void {
  let lab: CowLab
  let pool: CowFilesystem

  const copy = (source: string, name: string, isReadOnly = false): Promise<void> =>
    pool.snapshot({ source, name, project: 'demo', isReadOnly, quotaBytes: null })

  describe(`a ${kind} pool`, () => {
    beforeAll(async () => {
      lab = await open()
      pool = lab.filesystem
    })
    afterAll(() => lab?.close())

    test('has a created subvolume, empty and listed, until that is destroyed', async () => {
      await pool.create('made', 'demo')
      expect(await pool.exists('made')).toBe(true)
      expect(await pool.list()).toEqual(expect.arrayContaining(['base', 'made']))
      await pool.destroy('made')
      expect(await pool.exists('made')).toBe(false)
      expect(await pool.list()).not.toContain('made')
    })

    test('succeeds when it destroys a missing subvolume', async () => {
      await pool.destroy('never_was')
    })

    test('refuses a name that is taken, and its subvolume stays', async () => {
      await copy('base', 'taken')
      lab.write('taken', 'mine')
      await expect(copy('base', 'taken')).rejects.toMatchObject({ code: 'internal', cause: { code: 'EEXIST' } })
      await expect(pool.create('taken', 'demo')).rejects.toMatchObject({ code: 'internal', cause: { code: 'EEXIST' } })
      expect(lab.read('taken')).toBe('mine')
      await pool.destroy('taken')
    })

    test('refuses a missing source, and leaves nothing', async () => {
      await expect(copy('absent', 'orphan')).rejects.toMatchObject({ cause: { code: 'ENOENT' } })
      expect(await pool.exists('orphan')).toBe(false)
    })

    test.each(['', '..', 'a/b', 'UPPER', 'x'.repeat(65), 'a\0b'])('refuses %j as a name', async (name) => {
      await expect(pool.create(name, 'demo')).rejects.toThrow()
      await expect(pool.destroy(name)).rejects.toThrow()
      await expect(copy('base', name)).rejects.toThrow()
      expect(() => pool.path(name)).toThrow()
    })

    test('lets exactly one of fifty snapshots with one name succeed', async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => copy('base', 'contested')))
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
      await pool.destroy('contested')
    })

    test('makes and destroys many at once', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `many_${index}`)
      await Promise.all(names.map((name, index) => (index % 2 === 0 ? pool.create(name, 'demo') : copy('base', name))))
      expect(await pool.list()).toEqual(expect.arrayContaining(names))
      await Promise.all(names.map((name) => pool.destroy(name)))
      expect((await pool.list()).filter((name) => name.startsWith('many_'))).toEqual([])
    })

    test('makes a copy that then changes independently, of the same origin', async () => {
      await copy('base', 'copy')
      lab.write('copy', 'changed')
      expect([lab.read('base'), lab.read('copy')]).toEqual(['base', 'changed'])
      expect(await pool.origin('copy')).toBe(await pool.origin('base'))
      await pool.destroy('copy')
      expect(await pool.origin('copy')).toBeNull()
    })

    test('refuses writes to a read-only copy until that is made writable', async () => {
      await copy('base', 'frozen', true)
      expect(() => lab.write('frozen', 'x')).toThrow()
      await pool.setReadOnly('frozen', false)
      lab.write('frozen', 'x')
      await pool.setReadOnly('frozen', true)
      await pool.setReadOnly('frozen', true)
      expect(() => lab.write('frozen', 'y')).toThrow()
      expect(lab.read('frozen')).toBe('x')
      await pool.destroy('frozen')
    })

    test('refuses to bound or seal what is not there', async () => {
      await expect(pool.setQuota('absent', 1024 ** 2)).rejects.toThrow()
      await expect(pool.setReadOnly('absent', true)).rejects.toThrow()
    })

    test('receives what it sends, from a parent as well, into a subvolume that can be written to', async () => {
      await copy('base', 'first', true)
      await copy('base', 'changing')
      lab.write('changing', 'second')
      await copy('changing', 'second', true)
      const streams = async function* () {
        yield pool.send({ name: 'first', parent: null })
        yield pool.send({ name: 'second', parent: 'first' })
      }
      await pool.receive({
        container: 'tmp_box',
        name: 'received',
        project: 'demo',
        quotaBytes: null,
        streams: streams(),
      })
      expect(lab.read('received')).toBe('second')
      lab.write('received', 'later')
      expect(await pool.exists('tmp_box')).toBe(true)
      for (const name of ['first', 'changing', 'second', 'received', 'tmp_box']) await pool.destroy(name)
      expect(await pool.list()).not.toContain('received')
    })
  })
}

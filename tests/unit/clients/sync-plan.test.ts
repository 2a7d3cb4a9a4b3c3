import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { exclusionOf } from '../../../cli/files/exclusions.ts'
import { type LocalEntry, scanTree } from '../../../cli/files/local-tree.ts'
import { packEntries } from '../../../cli/files/packing.ts'
import { type PlanOptions, planSync, type RemoteEntry, type SyncPlan } from '../../../cli/files/sync-plan.ts'
import { withTree } from '../../helpers/files/tree.ts'

const file = (path: string, more: Partial<LocalEntry> = {}): LocalEntry => {
  return { path, kind: 'file', sizeBytes: 1, mode: 0o644, modifiedMs: 1000, target: null, ...more }
}
const directory = (path: string): LocalEntry => file(path, { kind: 'directory', mode: 0o755, sizeBytes: 0 })
const remote = (...entries: (LocalEntry | (Omit<LocalEntry, 'kind'> & { kind: string }))[]): Map<string, RemoteEntry> =>
  new Map(entries.map(({ path, ...facts }) => [path, { ...facts, uid: 0, gid: 0 }]))
const plan = (
  local: LocalEntry[],
  there: Map<string, RemoteEntry>,
  options: Partial<PlanOptions> = {},
): Omit<SyncPlan, 'send'> & { send: string[] } => {
  const { send, ...rest } = planSync(local, there, { removes: false, isExcluded: () => false, ...options })
  return { ...rest, send: send.map(({ path }) => path) }
}

describe('a plan', () => {
  test('sends what is not there, and what differs by kind, size, time, mode or target', () => {
    const link = file('link', { kind: 'symlink', target: 'a' })
    const there = remote(
      ...[
        file('same'),
        file('size', { sizeBytes: 2 }),
        file('time', { modifiedMs: 999 }),
        file('mode', { mode: 0o600 }),
      ],
      ...[{ ...link, target: 'b' }, directory('kept')],
    )
    const local = [file('same'), file('size'), file('time'), file('mode'), link, directory('kept'), file('new')]
    expect(plan(local, there)).toEqual({ send: ['size', 'time', 'mode', 'link', 'new'], replace: [], remove: [] })
  })

  test('sends what holds something else', () => {
    expect(plan([file('a')], remote(file('a')), { differing: new Set(['a']) }).send).toEqual(['a'])
  })

  test('makes room for what is of another kind', () => {
    const there = remote(directory('was-directory'), file('was-file'), { ...file('was-socket'), kind: 'socket' })
    const local = [file('was-directory'), directory('was-file'), file('was-socket')]
    expect(plan(local, there).replace).toEqual(['was-directory', 'was-file', 'was-socket'])
    expect(plan([file('a', { kind: 'symlink', target: 'x' })], remote(file('a'))).replace).toEqual([])
  })

  test('deletes only on request, and each tree at once', () => {
    const there = remote(
      directory('old'),
      file('old/a'),
      directory('old/b'),
      file('old/b/c'),
      file('older'),
      file('kept'),
    )
    expect(plan([file('kept')], there).remove).toEqual([])
    expect(plan([file('kept')], there, { removes: true }).remove).toEqual(['old', 'older'])
  })

  test('never deletes what is left out, nor what it is in', () => {
    const there = remote(directory('old'), file('old/a'), directory('old/cache'), file('old/cache/x'))
    const isExcluded = (path: string): boolean => path === 'old/cache' || path.startsWith('old/cache/')
    expect(plan([], there, { removes: true, isExcluded }).remove).toEqual(['old/a'])
  })
})

describe('a directory of this machine', () => {
  test('is described without what is left out, as a .gitignore says it', async () => {
    const files = {
      'a.txt': '1',
      'node_modules/x/y': '2',
      'sub/b.log': '3',
      'sub/c.txt': '4',
      '.boxyardignore': '*.log\n',
    }
    const found = await withTree(files, (root) => {
      return scanTree(root, { isExcluded: exclusionOf(root, ['node_modules/', '.boxyardignore']) })
    })
    expect(found.map(({ path }) => path).sort()).toEqual(['a.txt', 'sub', 'sub/c.txt'])
  })

  test('is packed with modes, times to the millisecond, links, and long or foreign names', async () => {
    const long = `${'deep/'.repeat(30)}${'n'.repeat(120)}`
    await withTree(
      { plain: 'plain', empty: '', [long]: 'long', 'späße/ü': 'text', large: 'x'.repeat(3_000_000) },
      async (root) => {
        chmodSync(join(root, 'plain'), 0o4711)
        chmodSync(join(root, 'empty'), 0)
        chmodSync(join(root, 'späße'), 0o700)
        symlinkSync('../elsewhere', join(root, 'link'))
        utimesSync(join(root, 'plain'), 1_700_000_000.123, 1_700_000_000.123)
        const copy = `${root}-unpacked`
        mkdirSync(copy)
        const pieces: Uint8Array[] = []
        const entries = await scanTree(root)
        for await (const piece of packEntries({ root, entries, ownerOf: () => ({ uid: 0, gid: 0 }) }))
          pieces.push(piece)
        try {
          execFileSync('tar', ['-x', '-p', '-C', copy], { input: Buffer.concat(pieces) })
          const facts = async (place: string): Promise<object[]> =>
            (await scanTree(place)).map((entry) => (entry.kind === 'directory' ? { ...entry, modifiedMs: 0 } : entry))
          expect(await facts(copy)).toEqual(await facts(root))
          expect(readlinkSync(join(copy, 'link'))).toBe('../elsewhere')
          expect(Math.floor(lstatSync(join(copy, 'plain')).mtimeMs) % 1000).not.toBe(0)
        } finally {
          rmSync(copy, { recursive: true, force: true })
        }
      },
    )
  })

  test('is packed without a file that has gone', async () => {
    const gone: string[] = []
    await withTree({ kept: '1', gone: '2' }, async (root) => {
      const entries = await scanTree(root)
      rmSync(join(root, 'gone'))
      writeFileSync(join(root, 'kept'), 'longer')
      const ownerOf = (): { uid: number; gid: number } => ({ uid: 5, gid: 6 })
      const pieces: Uint8Array[] = []
      for await (const piece of packEntries({ root, entries, ownerOf, onGone: (path) => gone.push(path) }))
        pieces.push(piece)
      const list = execFileSync('tar', ['-t', '-v', '--numeric-owner'], {
        input: Buffer.concat(pieces),
        encoding: 'utf8',
      })
      expect(list).toMatch(/^-\S+ 5\/6 +6 .* kept\n$/)
    })
    expect(gone).toEqual(['gone'])
  })

  test('is packed without what is no regular file any more, and without waiting for it', async () => {
    const gone: string[] = []
    await withTree({ fifo: '1', link: '2', kept: '3' }, async (root) => {
      const entries = await scanTree(root)
      for (const name of ['fifo', 'link']) rmSync(join(root, name))
      execFileSync('mkfifo', [join(root, 'fifo')])
      symlinkSync('/etc/passwd', join(root, 'link'))
      const pieces: Uint8Array[] = []
      const ownerOf = (): { uid: number; gid: number } => ({ uid: 0, gid: 0 })
      for await (const piece of packEntries({ root, entries, ownerOf, onGone: (path) => gone.push(path) }))
        pieces.push(piece)
      expect(execFileSync('tar', ['-t'], { input: Buffer.concat(pieces), encoding: 'utf8' })).toBe('kept\n')
    })
    expect(gone.sort()).toEqual(['fifo', 'link'])
  })

  test('is refused beyond the entries that are copied at once, with the way out', async () => {
    await withTree({ 'a/1': '', 'a/2': '', b: '' }, async (root) => {
      expect(await scanTree(root, { most: 4 })).toHaveLength(4)
      await expect(scanTree(root, { most: 3 })).rejects.toThrow(/more than 3 files and directories.*--exclude/)
      expect(await scanTree(root, { isExcluded: (path) => path === 'a', most: 3 })).toHaveLength(1)
    })
  })
})

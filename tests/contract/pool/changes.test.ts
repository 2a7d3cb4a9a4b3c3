import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { TreeChange } from '../../../agent/ports/pool/tree-changes.ts'
import { changeAtRandom, createDice } from '../../helpers/files/random-tree.ts'
import { explainChanges, readListing } from '../../helpers/files/tree-difference.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'
import { draw } from '../../helpers/sample.ts'

let lab: PoolLab
let round = 0
let live = ''

beforeAll(async () => {
  lab = await openPoolLab(512 * 1024 ** 2)
})

afterAll(() => lab.close())

beforeEach(async () => {
  live = `live${++round}`
  await lab.pool.create(live, 'demo')
})

const at = (name: string): string => lab.pool.path(name)

/** Returns the differences that `line` makes, as one short text each. */
async function afterRunning(line: string, before = ''): Promise<string[]> {
  shellAt(at(live), before)
  await lab.freeze(live, `${live}_a`)
  shellAt(at(live), line)
  await lab.freeze(live, `${live}_b`)
  return (await allChanges(`${live}_a`, `${live}_b`)).map(tell)
}

function tell({ kind, path, from, isModified, type, sizeBytes }: TreeChange): string {
  const move = from === null ? '' : `${text(from)} -> `
  const size = type === 'file' ? ` ${sizeBytes}` : ''
  return `${kind} ${move}${text(path)} ${type}${size}${kind === 'renamed' && isModified ? ' modified' : ''}`
}

const text = (path: Uint8Array): string => Buffer.from(path).toString('latin1')

async function allChanges(from: string, to: string, limit = 1000): Promise<TreeChange[]> {
  const all: TreeChange[] = []
  for (;;) {
    const after = all.at(-1) ?? null
    const { changes, hasMore } = await lab.pool.changes({ from, to, after, limit, share: 'demo', keep: true })
    all.push(...changes)
    if (!hasMore) return all
  }
}

const TREE =
  'mkdir -p d/e x; for i in 1 2 3; do echo $i > d/f$i; echo $i > x/g$i; done; echo "old text" > a; ln -s q sym; touch -d @1000 a'

describe('the differences between two snapshots', () => {
  test('are none without a change', async () => {
    expect(await afterRunning(':', TREE)).toEqual([])
  })

  test('include made files of every type, with their sizes', async () => {
    const line =
      'mkdir n; echo 12345 > n/file; ln -s target n/link; mkfifo n/pipe; mknod n/null c 1 3; mknod n/disk b 7 0'
    expect(
      await afterRunning(`${line}; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("n/sock")'`),
    ).toEqual([
      'added /n directory',
      'added /n/disk block',
      'added /n/file file 6',
      'added /n/link symlink',
      'added /n/null character',
      'added /n/pipe fifo',
      'added /n/sock socket',
    ])
  })

  test('include deleted files with everything below, as they were', async () => {
    expect(await afterRunning('rm -r d sym', TREE)).toEqual([
      'deleted /d directory',
      'deleted /d/e directory',
      'deleted /d/f1 file 2',
      'deleted /d/f2 file 2',
      'deleted /d/f3 file 2',
      'deleted /sym symlink',
    ])
  })

  test.each([
    ['written', 'echo more >> a', 'modified /a file 14'],
    ['cut', 'truncate -s 3 a', 'modified /a file 3'],
    ['given other permissions', 'chmod 600 a', 'modified /a file 9'],
    ['given away', 'chown 7:8 a', 'modified /a file 9'],
    ['given a mark', `python3 -c "import os; os.setxattr('a', 'user.mark', b'1')"`, 'modified /a file 9'],
    ['touched', 'touch -d @2000 a', 'modified /a file 9'],
    ['replaced by another', 'echo other > b; mv b a', 'modified /a file 6'],
    ['replaced by a link', 'rm a; ln -s x a', 'modified /a symlink'],
    ['given other permissions, a directory', 'chmod 700 d', 'modified /d directory'],
    ['given other permissions, the root', 'chmod 700 .', 'modified / directory'],
  ])('a file that was %s', async (_, line, told) => {
    expect(await afterRunning(line, TREE)).toEqual([told])
  })

  test.each([
    ['file', 'cp -p a t; mv t a'],
    ['link', 'cp -a sym t; mv t sym'],
    ['directory with all that is in it', 'cp -a d t; rm -r d; mv t d'],
    ['file in a directory that was away meanwhile', 'mv d dd; cp -p dd/f1 t; mv t dd/f1; mv dd d'],
  ])('exclude a %s that was written anew and is the same', async (_, line) => {
    expect(await afterRunning(line, `${TREE}; mkfifo d/pipe`)).toEqual([])
  })

  test.each([
    ['content', 'printf "new text\n" > t', 'modified /a file 9'],
    ['permissions', 'cp -p a t; chmod 600 t', 'modified /a file 9'],
    ['attributes', "cp -p a t; python3 -c \"import os; os.setxattr('t', 'user.mark', b'1')\"", 'modified /a file 9'],
    ['time', 'cp a t', 'modified /a file 9'],
  ])('include a file that was replaced by one with other %s alone', async (what, line, told) => {
    const keepTime = what === 'time' ? '' : 'touch -r a t;'
    expect(await afterRunning(`${line}; ${keepTime} mv t a`, TREE)).toEqual([told])
  })

  test('include what was replaced in a directory that was renamed', async () => {
    expect(await afterRunning('mv d dd; cp -p dd/f1 t; mv t dd/f1; echo other > t; mv t dd/f2', TREE)).toEqual([
      'renamed /d -> /dd directory',
      'modified /dd/f2 file 6',
    ])
  })

  test('exclude a directory whose content or time changed', async () => {
    expect(await afterRunning('touch -d 2001-01-01 x; echo 1 > d/new', TREE)).toEqual(['added /d/new file 2'])
  })

  test('exclude other names of a file that gained or lost one', async () => {
    expect(await afterRunning('ln a b; rm d/f1', `${TREE}; ln d/f1 hard`)).toEqual([
      'added /b file 9',
      'deleted /d/f1 file 2',
    ])
  })

  test('include all names of a modified file', async () => {
    const names = `${TREE}; ln a b; ln a d/c; ln a x/gone; mkdir y; ln a y/moved`
    expect(await afterRunning('echo more >> d/c; rm x/gone; mv y z; ln a e', names)).toEqual([
      'modified /a file 14',
      'modified /b file 14',
      'modified /d/c file 14',
      'added /e file 14',
      'deleted /x/gone file 9',
      'renamed /y -> /z directory',
      'modified /z/moved file 14',
    ])
  })

  test('include renamed files, also when modified as well', async () => {
    expect(await afterRunning('mv a b; mv d/f1 x/; echo more >> x/f1; mv sym other', TREE)).toEqual([
      'renamed /a -> /b file 9',
      'renamed /sym -> /other symlink',
      'renamed /d/f1 -> /x/f1 file 7 modified',
    ])
  })

  test('include only new content of a renamed directory', async () => {
    const line =
      'mv d dd; echo 9 > dd/new; rm dd/f1; echo more >> dd/f2; mv dd/f3 dd/g3; mv dd/e e; mkdir d; echo 1 > d/f1'
    expect(await afterRunning(line, TREE)).toEqual([
      'added /d directory',
      'deleted /d/f1 file 2',
      'added /d/f1 file 2',
      'renamed /d -> /dd directory',
      'modified /dd/f2 file 7',
      'renamed /d/f3 -> /dd/g3 file 2',
      'added /dd/new file 2',
      'renamed /d/e -> /e directory',
    ])
  })

  test('include swapped files, and directories moved into each other', async () => {
    expect(await afterRunning('mv d/f1 t; mv d/f2 d/f1; mv t d/f2; mv x d/e/x; mv d/e .; mv d e/x/d', TREE)).toEqual([
      'renamed /d/e -> /e directory',
      'renamed /x -> /e/x directory',
      'renamed /d -> /e/x/d directory',
      'renamed /d/f2 -> /e/x/d/f1 file 2',
      'renamed /d/f1 -> /e/x/d/f2 file 2',
    ])
  })

  test('include a rotated log as renamed, and the new one as added', async () => {
    expect(await afterRunning('mv a a.1; echo new > a', TREE)).toEqual(['added /a file 4', 'renamed /a -> /a.1 file 9'])
  })

  test('include a file renamed over another once', async () => {
    expect(await afterRunning('mv a d/f1', TREE)).toEqual(['renamed /a -> /d/f1 file 9'])
  })

  test('include names that are not UTF-8, and those that send uses itself', async () => {
    const changes = await afterRunning(
      `printf x > $'\\xff\\xfe'; mv o257-1-0 o258-1-0; echo > $'new\\nline'; mkdir o257-1-0`,
      'echo 1 > o257-1-0',
    )
    expect(changes).toEqual([
      'added /new\nline file 1',
      'added /o257-1-0 directory',
      'renamed /o257-1-0 -> /o258-1-0 file 2',
      'added /\xff\xfe file 1',
    ])
  })
})

describe('the differences of a pair of snapshots', () => {
  test('in reverse order have added files as deleted', async () => {
    expect(await afterRunning('echo 1 > new; mv a b; rm -r x', TREE)).toHaveLength(6)
    expect((await allChanges(`${live}_b`, `${live}_a`)).map(tell)).toEqual([
      'renamed /b -> /a file 9',
      'deleted /new file 2',
      'added /x directory',
      'added /x/g1 file 2',
      'added /x/g2 file 2',
      'added /x/g3 file 2',
    ])
  })

  test('of two forks of one tree are what only one has', async () => {
    shellAt(at(live), TREE)
    await lab.freeze(live, `${live}_0`)
    for (const fork of ['p', 'q']) {
      await lab.copy(`${live}_0`, `${live}_${fork}`)
      shellAt(at(`${live}_${fork}`), `echo ${fork} > only-${fork}; echo ${fork} >> a`)
      await lab.freeze(`${live}_${fork}`, `${live}_${fork}_s`)
    }
    expect((await allChanges(`${live}_p_s`, `${live}_q_s`)).map(tell)).toEqual([
      'modified /a file 11',
      'deleted /only-p file 2',
      'added /only-q file 2',
    ])
  })

  test('without common origin have what both have as modified where it differs', async () => {
    shellAt(at(live), 'mkdir d; echo 1 > d/f; echo 2 > a; echo 3 > only-here')
    await lab.freeze(live, `${live}_a`)
    await lab.pool.create(`${live}_z`, 'demo')
    shellAt(at(`${live}_z`), 'echo 2 > a; mkdir d; echo there > only-there; echo 1 > d/f')
    await lab.freeze(`${live}_z`, `${live}_b`)
    expect((await allChanges(`${live}_a`, `${live}_b`)).map(tell)).toEqual([
      'modified /a file 2',
      'modified /d/f file 2',
      'deleted /only-here file 2',
      'added /only-there file 6',
    ])
  })

  test('with a writable or missing snapshot are refused', async () => {
    await lab.freeze(live, `${live}_a`)
    for (const to of [live, 'absent'])
      await expect(
        lab.pool.changes({ from: `${live}_a`, to, after: null, limit: 1, share: 'demo', keep: false }),
      ).rejects.toMatchObject({ code: 'internal' })
  })

  test('with a path that is too long are refused as such', async () => {
    const line = 'd=$(printf %0250d 0); for i in $(seq 20); do mkdir $d; cd -P $d; done'
    await expect(afterRunning(line)).rejects.toMatchObject({ code: 'path_invalid' })
  })

  test('end the search on abort', async () => {
    shellAt(at(live), 'seq 1 2000 | xargs touch')
    await lab.freeze(live, `${live}_b`)
    await lab.pool.create(`${live}_0`, 'demo')
    await lab.freeze(`${live}_0`, `${live}_a`)
    const wish = { from: `${live}_a`, to: `${live}_b`, after: null, limit: 1000, share: 'demo', keep: false }
    const gone = new AbortController()
    const search = lab.pool.changes({ ...wish, signal: gone.signal })
    gone.abort(new Error('gone'))
    await expect(search).rejects.toThrow()
    expect((await lab.pool.changes(wish)).changes).toHaveLength(1000)
  })

  test('have pages of any size that add up to the whole, in order', async () => {
    const whole = await afterRunning('seq -f n%g 1 150 | xargs touch; rm -r d; mv x y', TREE)
    const pages = (await allChanges(`${live}_a`, `${live}_b`, 7)).map(tell)
    expect(pages).toEqual(whole)
    expect(whole).toHaveLength(156)
  })
})

describe('trees that were changed at random', () => {
  test.each(draw([...Array(16).keys()], 4))('have exact differences: seed %i', async (seed) => {
    const random = createDice(seed)
    for (let step = 0; step < 60; step++) changeAtRandom(random, at(live))
    await lab.freeze(live, `${live}_s0`)
    const trees = [readListing(at(`${live}_s0`))]
    for (let index = 1; index <= 4; index++) {
      for (let step = 0; step < 5 + random(40); step++) changeAtRandom(random, at(live))
      await lab.freeze(live, `${live}_s${index}`)
      trees.push(readListing(at(`${live}_s${index}`)))
    }
    for (const [from, earlier] of trees.entries())
      for (const [to, later] of trees.entries()) {
        const changes = await allChanges(`${live}_s${from}`, `${live}_s${to}`)
        expect(explainChanges(earlier, later, changes)).toEqual([])
      }
  })
})

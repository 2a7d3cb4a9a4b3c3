import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A copy of `s/SOURCE` to `t/TARGET` and its changes below `t`. */
export interface CopyRow {
  source: string
  target: string
  /** Changes that docker 20 and later make in both directions. `refused` if the copy fails and changes nothing. */
  docker: string
  /** Our changes where they differ. DIFFERENCES has the reasons. */
  ours: { up?: string; down?: string }
}

/** The box or container to try the table on. */
export interface CopySide {
  /** Runs a shell line in the box or container. */
  shell(line: string): Promise<string>
  /**
   * Copies, and returns false on failure. `up` copies from `s` in the directory `here` to `/t`. `down` copies from `/s` to `t` in `here`.
   */
  copy(from: string, to: string): Promise<boolean>
}

/** Creates the sources and the targets of the table in the current directory. */
const MAKE_SOURCES =
  'busybox mkdir -p s/d/sub && cd s && echo f >f && echo a >d/a && echo b >d/sub/b && busybox ln -s f fl && busybox ln -s d dl && busybox ln -s none dang && busybox ln -s /s/d adl'
const MAKE_TARGETS =
  'busybox rm -rf t && busybox mkdir -p t/dir && cd t && echo old >file && busybox ln -s dir ld && busybox ln -s ld lld && busybox ln -s "$PWD/dir" lad && busybox ln -s file lf && busybox ln -s none ldang'
/** Lists everything below `t`, one entry per line. */
const LIST_TARGETS =
  'cd t && busybox find . | busybox sort | while read -r p; do if [ -L "$p" ]; then echo "$p>$(busybox readlink "$p")"; elif [ -f "$p" ]; then echo "$p=$(busybox cat "$p")"; else echo "$p/"; fi; done'

/** Tries rows in one direction and returns the changes of each. `here` is a directory on this machine. The other side works in `/`. */
export async function tryCopies(
  rows: readonly CopyRow[],
  { direction, here, side }: { direction: 'up' | 'down'; here: string; side: CopySide },
): Promise<Record<string, string>> {
  mkdirSync(here, { recursive: true })
  const local = (line: string): Promise<string> =>
    Promise.resolve(execFileSync('sh', ['-c', line], { cwd: here, encoding: 'utf8' }))
  const remote = (line: string): Promise<string> => side.shell(`cd / && ${line}`)
  const [source, target] = direction === 'up' ? [local, remote] : [remote, local]
  await source(`busybox rm -rf s && ${MAKE_SOURCES}`)
  await target(MAKE_TARGETS)
  const before = (await target(LIST_TARGETS)).trim().split('\n')
  const changes: Record<string, string> = {}
  for (const row of rows) {
    const [from, to] = [`s/${row.source}`, `t/${row.target}`]
    const isDone =
      direction === 'up'
        ? await side.copy(join(here, 's', '/') + row.source, `/${to}`)
        : await side.copy(`/${from}`, to)
    const after = (await target(`(${LIST_TARGETS}) && ${MAKE_TARGETS}`)).trim().split('\n')
    const changed = after.filter((line) => !before.includes(line)).map((line) => line.slice(2))
    changes[nameOf(row)] = isDone ? changed.join(' ') : ['refused', ...changed].join(' ')
  }
  rmSync(here, { recursive: true })
  return changes
}

/** Returns the expected changes of rows, for docker or for us. */
export function expectedOf(rows: readonly CopyRow[], who: 'docker' | 'up' | 'down'): Record<string, string> {
  return Object.fromEntries(
    rows.map((row) => [nameOf(row), (who === 'docker' ? undefined : row.ours[who]) ?? row.docker]),
  )
}

function nameOf({ source, target }: CopyRow): string {
  return `${source} to ${target}`
}

function rowsOf(source: string, results: Readonly<Record<string, string>>): CopyRow[] {
  return Object.entries(results).map(([target, docker]) => {
    return { source, target, docker, ours: DIFFERENCES[`${source} to ${target}`] ?? {} }
  })
}

function inEach(result: string, ...targets: readonly string[]): Record<string, string> {
  return Object.fromEntries(targets.map((target) => [target, result]))
}

const DIRECTORIES = ['dir', 'dir/', 'ld', 'ld/', 'lad', 'lld'] as const
const SOME_DIRECTORIES = ['dir', 'ld/', 'lld'] as const
const NEW_TREE = 'new/ new/a=a new/sub/ new/sub/b=b'
const LINKED_TREE = 'none/ none/a=a none/sub/ none/sub/b=b'
const CONTENTS = 'dir/a=a dir/sub/ dir/sub/b=b'

/**
 * Our differences. A trailing slash creates a directory. A link on this machine is replaced, never written through (hostile-box.test.ts).
 */
const DIFFERENCES: Readonly<Record<string, CopyRow['ours']>> = {
  'f to new/': { up: 'new/ new/f=f', down: 'new/ new/f=f' },
  'fl to new/': { up: 'new/ new/fl>f', down: 'new/ new/fl>f' },
  'dl to new/': { up: 'new/ new/dl>d', down: 'new/ new/dl>d' },
  'f to lf': { down: 'lf=f' },
  'fl to lf': { down: 'lf>f' },
  'f to ldang': { down: 'ldang=f' },
  'd to ldang': { down: 'ldang/ ldang/a=a ldang/sub/ ldang/sub/b=b' },
  'd/. to ld': { down: 'ld/ ld/a=a ld/sub/ ld/sub/b=b' },
}

/** Results of `docker cp`, as observed with 20.10. `npm run bench copies` compares them with docker on this machine. */
export const COPY_TABLE: readonly CopyRow[] = [
  ...rowsOf('f', {
    new: 'new=f',
    'new/': 'refused',
    file: 'file=f',
    'file/': 'refused',
    lf: 'file=f',
    ldang: 'none=f',
    'ldang/': 'refused',
    'no/x': 'refused',
    ...inEach('dir/f=f', ...DIRECTORIES),
  }),
  ...rowsOf('fl', {
    new: 'new>f',
    'new/': 'refused',
    file: 'file>f',
    lf: 'file>f',
    ...inEach('dir/fl>f', ...SOME_DIRECTORIES),
  }),
  ...rowsOf('fl/', inEach('refused', 'new', 'file', 'dir')),
  ...rowsOf('d', {
    new: NEW_TREE,
    'new/': NEW_TREE,
    ...inEach('refused', 'file', 'file/', 'lf', 'ldang/', 'no/x'),
    ldang: LINKED_TREE,
    ...inEach('dir/d/ dir/d/a=a dir/d/sub/ dir/d/sub/b=b', ...DIRECTORIES),
  }),
  ...rowsOf('d/.', {
    new: NEW_TREE,
    'new/': NEW_TREE,
    ...inEach('refused', 'file', 'lf', 'no/x'),
    ...inEach(CONTENTS, 'dir', 'dir/', 'ld'),
  }),
  ...rowsOf('dl', { new: 'new>d', 'new/': 'refused', file: 'file>d', ...inEach('dir/dl>d', ...SOME_DIRECTORIES) }),
  ...rowsOf('dl/', {
    new: NEW_TREE,
    file: 'refused',
    ...inEach('dir/dl/ dir/dl/a=a dir/dl/sub/ dir/dl/sub/b=b', ...SOME_DIRECTORIES),
  }),
  ...rowsOf('dl/.', { new: NEW_TREE, file: 'refused', dir: CONTENTS }),
  ...rowsOf('adl', { new: 'new>/s/d', dir: 'dir/adl>/s/d' }),
  ...rowsOf('dang', { new: 'new>none', file: 'file>none', ...inEach('dir/dang>none', ...SOME_DIRECTORIES) }),
]

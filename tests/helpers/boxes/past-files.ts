import { execFileSync } from 'node:child_process'
import type { FilesRoot } from '../../../agent/ports/files/files.ts'
import type { FileLab } from '../files/lab.ts'

/** A snapshot of the files of `box_main`. */
export interface Past {
  place: FilesRoot
  drop(): Promise<void>
}

/** Takes a snapshot of the root of `box_main` and of its volumes by path, as in `FileLab.startBox`. */
export async function takePast({ volumes }: FileLab, paths: Record<string, string> = {}): Promise<Past> {
  const { pool } = volumes
  const names: string[] = []
  const take = async (source: string): Promise<string> => {
    const name = `snp_${taken++}`
    await pool.snapshot({ source, name, project: 'demo', isReadOnly: true, quotaBytes: null })
    names.push(name)
    return pool.path(name)
  }
  const rootPath = await take('sub_box_main')
  const mounts: FilesRoot['mounts'][number][] = []
  for (const [path, name] of Object.entries(paths))
    mounts.push({ source: await take(name.replace(/:ro$/, '')), path, readOnly: true })
  return {
    place: { boxId: 'box_main', isSnapshot: true, rootPath, mounts },
    drop: async () => {
      for (const name of names) await pool.destroy(name)
    },
  }
}

/** Lists a directory recursively, one line per entry, with kind, mode, ids, mtime, links, target and checksum. */
export function describeTree(path: string): string[] {
  const find = (...args: string[]): string[] =>
    execFileSync('find', ['.', ...args], { cwd: path, encoding: 'latin1', maxBuffer: 64 * 1024 ** 2 }).split('\0')
  const facts = find('-printf', '%p %y %m %U %G %T@ %n %s %l\\0')
  const sums = find('-type', 'f', '-size', '-50M', '-exec', 'sha256sum', '-z', '{}', '+')
  // Drops the link count and size of directories, which do not describe their content.
  return [...facts.map((line) => line.replace(/^(.* d .*) \d+ \d+ $/s, '$1')), ...sums].sort()
}

let taken = 0

import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DataDiskFacts } from '../facts.ts'

/** Looks at the filesystem of a data directory, which may not exist yet. */
export function probeDisk(dataDir: string): DataDiskFacts {
  const path = nearestExisting(dataDir)
  const { type, isReadOnly } = mountOf(path)
  const { bsize, blocks, bavail, files, ffree } = statfsSync(path)
  const image = statSync(join(dataDir, 'pool.img'), { throwIfNoEntry: false })
  return {
    dataDir,
    exists: path === dataDir,
    path,
    type,
    isReadOnly,
    totalBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    // btrfs makes them as they are needed, and counts none.
    freeInodes: files === 0 ? null : ffree,
    pool: image === undefined ? null : { sizeBytes: image.size },
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || path === '/' ? path : nearestExisting(dirname(path))
}

function mountOf(path: string): { type: string; isReadOnly: boolean } {
  const mounts = parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
  const above = mounts.filter(({ target }) => target === '/' || path === target || path.startsWith(`${target}/`))
  // Of those at one place the last one is seen.
  const found = above.reduce<Mount | null>(
    (best, one) => (best !== null && best.target.length > one.target.length ? best : one),
    null,
  )
  return { type: found?.type ?? 'unknown', isReadOnly: found?.isReadOnly ?? false }
}

interface Mount {
  target: string
  type: string
  isReadOnly: boolean
}

function parseMounts(mountInfo: string): Mount[] {
  return mountInfo
    .trim()
    .split('\n')
    .map((line) => {
      const [left = '', right = ''] = line.split(' - ')
      const fields = left.split(' ')
      const [type = '', , superOptions = ''] = right.split(' ')
      const options = [...(fields[5] ?? '').split(','), ...superOptions.split(',')]
      return { target: fields[4] ?? '', type, isReadOnly: options.includes('ro') }
    })
}

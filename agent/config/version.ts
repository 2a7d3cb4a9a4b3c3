import { readFileSync } from 'node:fs'

/** Version and commit of this program. The commit is null if neither a release nor git has it. */
export interface ProgramVersion {
  version: string
  commit: string | null
}

/** Reads version and commit. A release has both in a file of its own, a checkout in package.json and in git. */
export function readVersion(): ProgramVersion {
  const read = (name: string): { version: string; commit?: string } => JSON.parse(readRoot(name)) as { version: string }
  try {
    const { version, commit = null } = read('release.json')
    return { version, commit }
  } catch {
    return { version: read('package.json').version, commit: readCommit() }
  }
}

function readCommit(): string | null {
  try {
    const head = readRoot('.git/HEAD').trim()
    return head.startsWith('ref: ') ? readRef(head.slice(5)) : head
  } catch {
    return null
  }
}

// git keeps a ref in its own file until it packs all into one.
function readRef(ref: string): string | null {
  try {
    return readRoot(`.git/${ref}`).trim()
  } catch {
    const line = readRoot('.git/packed-refs')
      .split('\n')
      .find((each) => each.endsWith(` ${ref}`))
    return line?.split(' ')[0] ?? null
  }
}

function readRoot(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { findMadeOnce } from '../made-once/directory.ts'
import { buildWithGo } from './build.ts'

/** A program that tests use as a peer. */
export interface GoProgram {
  /** Directory of the `go.mod` and `go.sum` that pin it. */
  directory: string
  /** Path of the Go package. Its last part is the name of the program. */
  package: string
  /** Description with an article, for messages. */
  what: string
}

/** Builds a program from its Go module on first use and keeps it outside the checkout. Returns its path, or why it cannot be built. */
export async function findGoProgram(
  wanted: GoProgram,
  say: (text: string) => void,
): Promise<string | { obstacle: string }> {
  const { directory, what } = wanted
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(directory, file)))
  const found = await findMadeOnce({
    name: basename(directory),
    hash: hash.digest('hex'),
    findObstacle: () =>
      spawnSync('go', ['version']).status === 0 ? null : `${what} is built with Go, and there is no Go here`,
    make: async (target) => {
      say(`Building ${what} from its Go module (only this once, some minutes)`)
      const packages = [wanted.package]
      await buildWithGo({ what, module: directory, packages, flags: FLAGS, env: ENVIRONMENT, target, say })
    },
    say,
  })
  return typeof found === 'string' ? join(found, basename(wanted.package)) : found
}

const FLAGS = ['-ldflags', '-s -w']
const ENVIRONMENT = { CGO_ENABLED: '0' }

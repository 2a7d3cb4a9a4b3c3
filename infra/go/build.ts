import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runBuild } from '../made-once/build.ts'
import { removeUnfinished } from '../made-once/parts.ts'

/** Programs of one Go module. */
export interface GoBuild {
  /** Names them in lines for the waiting user. */
  what: string
  /** Directory of the `go.mod`. */
  module: string
  packages: readonly string[]
  flags: readonly string[]
  env: Readonly<Record<string, string>>
  /** Target directory of the programs. */
  target: string
  say(text: string): void
}

/** Builds programs. Go's own caches keep what an interrupted run has fetched and compiled, so the next one resumes there. */
export async function buildWithGo({ what, module, packages, flags, env, target, say }: GoBuild): Promise<void> {
  // Go leaves its working directory behind when it is killed, and /tmp may be small.
  const scratch = join(target, '.go-tmp')
  removeUnfinished(scratch)
  mkdirSync(scratch, { recursive: true })
  const options = {
    cwd: module,
    env: { ...process.env, ...env, GOTMPDIR: scratch },
    target,
    network: 'the Go module proxy (`go env GOPROXY`)',
    keeps: 'modules and packages',
    say,
  }
  // Git refuses to describe a checkout of another user.
  const all = ['-trimpath', '-buildvcs=false', ...flags]
  const stale = await runBuild({
    ...options,
    what: `Fetching the Go modules of ${what}`,
    command: ['go', 'list', '-deps', ...all, '-f', '{{if .Stale}}{{.ImportPath}}{{end}}', ...packages],
    counted: { line: /^go: downloading /, unit: 'modules' },
  })
  await runBuild({
    ...options,
    what: `Building ${what}`,
    // -v prints the name of each compiled package.
    command: ['go', 'build', '-v', ...all, '-o', `${target}/`, ...packages],
    counted: { line: /^[^\s#:]+$/, unit: 'packages', total: stale.trim().split('\n').length },
  })
  removeUnfinished(scratch)
}

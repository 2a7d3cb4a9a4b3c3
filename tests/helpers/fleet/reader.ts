import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect } from '@jest/globals'
import { buildCli } from '../../../infra/cli-bundle.ts'
import { type DocumentedCommand, missingFrom, rowsMissingFrom } from '../console-blocks.ts'
import { untilSucceeds } from '../eventually.ts'
import { kubectlProgram } from '../pods/kubectl.ts'

/** A reader who types the commands of a page into one shell, with the Boxyard CLI and kubectl on the PATH. */
export interface Reader {
  /** Runs a command. Retries a read-only command until its output matches the page. Fails if the output differs. */
  follow(command: DocumentedCommand): Promise<void>
  close(): void
}

/** Creates a reader. `here` replaces the page's values from another machine. */
export async function createReader(here: (text: string) => string): Promise<Reader> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-reader-'))
  const programs = join(directory, 'programs')
  mkdirSync(programs)
  const cli = await buildCli(join(directory, 'cli'))
  writeFileSync(join(programs, 'boxyard'), `#!/bin/sh\nexec ${process.execPath} ${cli} "$@"\n`, { mode: 0o755 })
  const PATH = [programs, dirname(kubectlProgram()), process.env['PATH']].join(delimiter)
  const assignments: string[] = []
  const look = async (line: string, shown: readonly string[]): Promise<void> => {
    const { stdout, ...end } = await runLine([...assignments, line].join('\n'), { PATH, HOME: directory })
    expect({ line, ...end, stdout: end.code === 0 ? '' : stdout }).toEqual({ line, code: 0, stderr: '', stdout: '' })
    const missing = /kubectl get|boxyard ls/.test(line) ? rowsMissingFrom(stdout, shown) : missingFrom(stdout, shown)
    expect({ line, stdout, missing }).toEqual({ line, stdout, missing: [] })
  }
  return {
    follow: async ({ command, shown }) => {
      const line = here(command)
      await (READS.test(line) ? untilSucceeds(() => look(line, shown.map(here))) : look(line, shown.map(here)))
      if (ASSIGNS.test(line)) assignments.push(line)
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  }
}

function runLine(
  script: string,
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn('bash', ['-c', script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (data: Buffer) => {
      said[name] += data.toString()
    })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
}

const ASSIGNS = /^(\w+=|export )/
const READS = /^(kubectl |boxyard (ls|health|exec \S+ cat)\b)/

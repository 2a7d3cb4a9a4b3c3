import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { withTree } from '../helpers/files/tree.ts'
import { runTool } from '../helpers/tool.ts'

interface Report {
  diagnostics: { code: string; filename: string }[]
}

/** Returns the violations below `root` that .oxlintrc.json finds without types, as `rule: file`, in order. */
function lint(root: string): string[] {
  const { diagnostics } = JSON.parse(runTool(root, ['oxlint/bin/oxlint', '--format', 'json', '.']).stdout) as Report
  return diagnostics.map(({ code, filename }) => `${ruleOf(code)}: ${filename}`).sort()
}

/** Returns `plugin(rule)` in the configuration's format. */
function ruleOf(code: string): string {
  return code.replace(/^(\w+)\((.*)\)$/, '$1/$2').replace(/^eslint\//, '')
}

/** Lints a tree of these files with the rules of this repository. */
function lintTree(files: Readonly<Record<string, string>>): Promise<string[]> {
  const rules = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')
  const plugin = join(ROOT, 'infra/lint/rules.mjs')
  return withTree({ ...files, '.oxlintrc.json': rules.replace('./infra/lint/rules.mjs', plugin) }, lint)
}

async function ruleNames(): Promise<string[]> {
  const plugin = (await import(join(ROOT, 'infra/lint/rules.mjs'))) as { default: { rules: Record<string, unknown> } }
  return [...Object.keys(plugin.default.rules).map((name) => `boxyard/${name}`), 'max-lines', 'max-params']
}

describe('rules of size, name and single owner', () => {
  test('each rule refuses its violation', async () => {
    expect(await lintTree(VIOLATIONS)).toEqual(EXPECTED.toSorted())
    const proven = new Set(EXPECTED.map((line) => line.slice(0, line.indexOf(':'))))
    expect([...proven].sort()).toEqual((await ruleNames()).sort())
  })

  test('an owner may use its own calls', async () => {
    expect(await lintTree(OWNERS)).toEqual([])
  })
})

const longFunction = ['export function long(): void {', ...Array.from({ length: 70 }, () => '  //'), '}'].join('\n')

const VIOLATIONS = {
  'agent/core/UpperCase.ts': 'export const a = 1',
  'agent/core/utils.ts': 'export const a = 1',
  'agent/core/long-file.ts': `${'// line\n'.repeat(300)}export const a = 1`,
  'agent/core/long-function.ts': longFunction,
  'agent/core/parameters.ts': 'export const f = (a: number, b: number, c: number, d: number) => a + b + c + d',
  'agent/core/spawns.ts': "import { spawn } from 'node:child_process'\nexport const a = spawn",
  'agent/core/spawns-later.ts': "export const a = () => import('child_process')",
  'agent/core/spawns-hidden.ts': "export const a = () => process.getBuiltinModule('node:child_process')",
  'agent/drivers/native.ts': "import koffi from 'koffi'\nexport const a = koffi",
  'agent/core/sql.ts': "import { DatabaseSync } from 'node:sqlite'\nexport const a = DatabaseSync",
  'agent/core/socket.ts': "import { WebSocket } from 'ws'\nexport const a = WebSocket",
  'cli/prints.ts': "export const a = () => process.stdout.write('a')",
  'cli/exits.ts': 'export const a = () => process.exit(1)',
  'cli/exits-later.ts': 'export const a = () => { process.exitCode = 1 }',
  'cli/exits-hidden.ts': "export const a = () => process['exit'](1)",
  'cli/exits-import.ts': "import { exit } from 'node:process'\nexport const a = exit",
  'agent/core/aws.ts': "import { S3Client } from '@aws-sdk/client-s3'\nexport const a = S3Client",
  'shared/environment.ts': "export const a = () => process.env['HOME']",
  'shared/environment-import.ts': "import { env } from 'node:process'\nexport const a = env",
  'agent/core/clock.ts': 'export const a = () => Date.now()',
  'agent/core/date.ts': 'export const a = () => new Date()',
  'agent/core/repeats.ts': 'export const a = () => setInterval(() => undefined, 1)',
  'agent/core/starts.ts': 'process.exitCode = 1',
  'agent/core/barrel.ts': "export * from './date.ts'",
  'agent/core/barrel-named.ts': "export { a } from './date.ts'",
  'agent/core/default.ts': 'export default 1',
  'shared/zod-named.ts': "import { z } from 'zod'\nexport const a = z",
  'tests/unit/skipped.test.ts': "test.skip('a', () => undefined)\ndescribe.only('b', () => undefined)",
}

const EXPECTED = [
  'boxyard/file-name: agent/core/UpperCase.ts',
  'boxyard/file-name: agent/core/utils.ts',
  'max-lines: agent/core/long-file.ts',
  'boxyard/function-size: agent/core/long-function.ts',
  'max-params: agent/core/parameters.ts',
  'boxyard/one-spawner: agent/core/spawns.ts',
  'boxyard/one-spawner: agent/core/spawns-later.ts',
  'boxyard/one-spawner: agent/core/spawns-hidden.ts',
  'boxyard/one-ffi: agent/drivers/native.ts',
  'boxyard/one-sql: agent/core/sql.ts',
  'boxyard/one-websocket: agent/core/socket.ts',
  'boxyard/one-terminal: cli/prints.ts',
  'boxyard/one-exit: cli/exits.ts',
  'boxyard/one-exit: cli/exits-later.ts',
  'boxyard/one-exit: cli/exits-hidden.ts',
  'boxyard/one-exit: cli/exits-import.ts',
  'boxyard/one-aws-sdk: agent/core/aws.ts',
  'boxyard/one-environment: shared/environment.ts',
  'boxyard/one-environment: shared/environment-import.ts',
  'boxyard/one-clock: agent/core/clock.ts',
  'boxyard/one-clock: agent/core/date.ts',
  'boxyard/one-repeater: agent/core/repeats.ts',
  'boxyard/nothing-at-import: agent/core/starts.ts',
  'boxyard/no-barrel: agent/core/barrel.ts',
  'boxyard/no-barrel: agent/core/barrel-named.ts',
  'boxyard/no-default-export: agent/core/default.ts',
  'boxyard/zod-namespace: shared/zod-named.ts',
  'boxyard/no-skipped-test: tests/unit/skipped.test.ts',
  'boxyard/no-skipped-test: tests/unit/skipped.test.ts',
]

const OWNERS = {
  'agent/lib/run.ts': "import { spawn } from 'node:child_process'\nexport const a = spawn",
  'agent/core/type-only.ts': "import type { ChildProcess } from 'node:child_process'\nexport type A = ChildProcess",
  'agent/lib/syscalls/files.ts': "import koffi from 'koffi'\nexport const a = koffi",
  'agent/drivers/store/store.ts': "import { DatabaseSync } from 'node:sqlite'\nexport const a = DatabaseSync",
  'agent/config/agent.ts': 'export const a = () => process.env',
  'cli/output/outputs.ts': 'export const a = () => process.exit(1)',
  'agent/compose/agent.ts': 'export const a = () => Date.now()',
  'agent/core/given-time.ts': 'export const a = (now: number) => new Date(now)',
  'shared/repeat.ts': 'export const a = () => setInterval(() => undefined, 1)',
  'agent/main.ts': 'await Promise.resolve()',
  'shared/zod-namespace.ts': "import * as z from 'zod'\nexport const a = z",
  'tests/unit/chapters.test.ts': `describe('a', () => {\n${'  //\n'.repeat(100)}})`,
}

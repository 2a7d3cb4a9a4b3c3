import { join } from 'node:path'
import { ROOT } from './commands.ts'
import { type CheckTask, runTasks } from './tasks.ts'

/** `npm run check`: runs all static checks; needs no network and no root. */
async function main(): Promise<void> {
  process.chdir(ROOT)
  const results = await runTasks(TASKS, ({ name, isOk, output, elapsedMs }) => {
    process.stdout.write(`${isOk ? 'ok    ' : 'FAILED'} ${name} (${(elapsedMs / 1000).toFixed(1)} s)\n`)
    if (!isOk) process.stdout.write(`${output.trimEnd().replaceAll(/^/gm, '    ')}\n`)
  })
  const failed = results.filter(({ isOk }) => !isOk).map(({ name }) => name)
  process.stdout.write(failed.length === 0 ? 'check passed\n' : `check failed: ${failed.join(', ')}\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}

const node = (path: string, ...args: string[]): string[] => [process.execPath, join(ROOT, path), ...args]

/** The longest first, so that the cores finish together. */
const TASKS: readonly CheckTask[] = [
  { name: 'types and lint', command: node('node_modules/oxlint/bin/oxlint', '--type-aware', '--type-check', '.') },
  {
    name: 'layers',
    command: node(
      'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
      ...[
        '--config',
        '.dependency-cruiser.mjs',
        'shared',
        'functions',
        'agent',
        'infra',
        'sdk',
        'cli',
        'web/src',
        'tests',
      ],
    ),
  },
  { name: 'dead code', command: node('node_modules/knip/bin/knip.js', '--no-progress') },
  { name: 'openapi', command: ['bash', join(ROOT, 'infra/lint/openapi.sh')] },
  { name: 'format', command: node('node_modules/@biomejs/biome/bin/biome', 'check', '--max-diagnostics=100') },
  { name: 'docs', command: node('infra/api-docs.ts', '--check') },
  { name: 'sdk', command: node('infra/sdk.ts', '--check') },
  { name: 'hygiene', command: node('infra/hygiene.ts') },
]

await main()

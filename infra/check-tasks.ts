import { join } from 'node:path'
import { ROOT } from './commands.ts'
import type { CheckTask } from './tasks.ts'

const node = (path: string, ...args: string[]): string[] => [process.execPath, join(ROOT, path), ...args]

/**
 * Names every violation of `.dependency-cruiser.mjs` in the working directory. tests/architecture proves that each rule refuses its own.
 */
export const LAYERS_COMMAND: readonly string[] = node(
  'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs',
  ...['--config', join(ROOT, '.dependency-cruiser.mjs')],
  ...['shared', 'functions', 'agent', 'infra', 'sdk', 'cli', 'web/src', 'tests'],
)

/** Tasks of `npm run check`. The longest come first, so that the cores finish together. */
export const CHECK_TASKS: readonly CheckTask[] = [
  { name: 'types and lint', command: node('node_modules/oxlint/bin/oxlint', '--type-aware', '--type-check', '.') },
  { name: 'layers', command: LAYERS_COMMAND },
  { name: 'dead code', command: node('node_modules/knip/bin/knip.js', '--no-progress') },
  { name: 'openapi', command: ['bash', join(ROOT, 'infra/lint/openapi.sh')] },
  { name: 'format', command: node('node_modules/@biomejs/biome/bin/biome', 'check', '--max-diagnostics=100') },
  { name: 'prose', command: node('infra/prose.ts') },
  { name: 'docs', command: node('infra/api-docs.ts', '--check') },
  { name: 'sdk', command: node('infra/sdk.ts', '--check') },
  { name: 'hygiene', command: node('infra/hygiene.ts') },
]

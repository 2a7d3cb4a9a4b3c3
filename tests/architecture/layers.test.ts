import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT, runTool } from '../helpers/tool.ts'
import { withTree } from '../helpers/tree.ts'

const DIRECTORIES = ['shared', 'functions', 'agent', 'infra', 'tests']

interface CruiseReport {
  modules: { source: string; dependencies: { resolved: string }[] }[]
  summary: { violations: { rule: { name: string }; from: string; to: string }[]; error: number }
}

function cruise(root: string, directories: readonly string[]): CruiseReport {
  const program = 'dependency-cruiser/bin/dependency-cruiser.mjs'
  const args = ['--config', join(ROOT, '.dependency-cruiser.mjs'), '-T', 'json', ...directories]
  return JSON.parse(runTool(root, [program, ...args]).stdout) as CruiseReport
}

function violationsOf({ summary }: CruiseReport): string[] {
  return summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`).sort()
}

async function ruleNames(): Promise<string[]> {
  const module = (await import(join(ROOT, '.dependency-cruiser.mjs'))) as { default: { forbidden: { name: string }[] } }
  return module.default.forbidden.map(({ name }) => name)
}

describe('the layers of this repository', () => {
  const report = cruise(ROOT, DIRECTORIES)

  test('no import crosses a layer, closes a cycle or leads nowhere', () => {
    expect(violationsOf(report)).toEqual([])
  })

  test('imports of TypeScript files and of packages are really followed', () => {
    const dependenciesOf = (file: string): string[] =>
      report.modules.find(({ source }) => source === file)?.dependencies.map(({ resolved }) => resolved) ?? []
    expect(dependenciesOf('shared/match.ts')).toEqual(expect.arrayContaining(['shared/errors.ts', 'shared/routes.ts']))
    expect(dependenciesOf('shared/routes/boxes.ts').join()).toContain('node_modules/zod/')
  })
})

describe('the rules about layers', () => {
  test('each refuses what it is there for', async () => {
    const found = await withTree(VIOLATIONS, (root) => violationsOf(cruise(root, DIRECTORIES)))
    expect(found).toEqual(EXPECTED.toSorted())
    const proven = new Set(EXPECTED.map((line) => line.slice(0, line.indexOf(':'))))
    expect([...proven].sort()).toEqual((await ruleNames()).sort())
  })

  test('none refuses what the architecture allows', async () => {
    expect(await withTree(ALLOWED, (root) => violationsOf(cruise(root, DIRECTORIES)))).toEqual([])
  })
})

const SETTINGS = {
  'tsconfig.json':
    '{ "compilerOptions": { "module": "NodeNext", "allowImportingTsExtensions": true, "noEmit": true } }',
  'package.json': '{ "type": "module", "dependencies": { "used": "1" }, "devDependencies": { "tool": "1" } }',
  'node_modules/used/package.json': '{ "name": "used", "version": "1.0.0", "exports": { "./deep": "./deep.js" } }',
  'node_modules/used/deep.js': 'module.exports = 1',
  'node_modules/tool/package.json': '{ "name": "tool", "version": "1.0.0", "main": "index.js" }',
  'node_modules/tool/index.js': 'module.exports = 1',
}

const LEAVES = {
  'shared/leaf.ts': 'export const leaf = 1',
  'functions/leaf.ts': 'export const leaf = 1',
  'agent/config.ts': 'export const leaf = 1',
  'agent/core/leaf.ts': 'export const leaf = 1',
  'agent/drivers/leaf.ts': 'export const leaf = 1',
  'agent/handlers/leaf.ts': 'export const leaf = 1',
  'agent/lib/leaf.ts': 'export const leaf = 1',
  'agent/ports/leaf.ts': 'export interface Leaf { leaf: number }',
  'agent/server/leaf.ts': 'export const leaf = 1',
  'infra/leaf.ts': 'export const leaf = 1',
  'tests/leaf.ts': 'export const leaf = 1',
}

const VIOLATIONS = {
  ...SETTINGS,
  ...LEAVES,
  'agent/compose.ts': "import { leaf } from './drivers/leaf.ts'\nexport const compose = leaf",
  'shared/bad.ts': "import { leaf } from '../agent/config.ts'\nexport const bad = leaf",
  'functions/bad.ts': "export const bad = () => import('../agent/config.ts')",
  'agent/bad.ts': "import { leaf } from '../functions/leaf.ts'\nexport const bad = leaf",
  'agent/core/bad.ts': "import { leaf } from '../lib/leaf.ts'\nexport const bad = leaf",
  'agent/core/bad-type.ts': "import type { leaf } from '../config.ts'\nexport type Bad = typeof leaf",
  'agent/ports/bad.ts': "import type { leaf } from '../lib/leaf.ts'\nexport type Bad = typeof leaf",
  'agent/drivers/bad.ts': "import { leaf } from '../core/leaf.ts'\nexport const bad = leaf",
  'agent/lib/bad.ts': "import type { Leaf } from '../ports/leaf.ts'\nexport type Bad = Leaf",
  'agent/handlers/bad.ts': "import { leaf } from '../lib/leaf.ts'\nexport const bad = leaf",
  'agent/server/bad.ts': "import { leaf } from '../handlers/leaf.ts'\nexport const bad = leaf",
  'agent/holder/bad.ts': "import { leaf } from '../core/leaf.ts'\nexport const bad = leaf",
  'agent/wiring.ts': "import { leaf } from './drivers/leaf.ts'\nexport const bad = leaf",
  'agent/drivers/wired.ts': "import { compose } from '../compose.ts'\nexport const bad = compose",
  'shared/egg.ts': "import { hen } from './hen.ts'\nexport const egg = () => hen",
  'shared/hen.ts': "import { egg } from './egg.ts'\nexport const hen = () => egg",
  'shared/lost.ts': "import { nothing } from './nothing.ts'\nexport const lost = nothing",
  'shared/tool.ts': "import tool from 'tool'\nexport const bad = tool",
}

const EXPECTED = [
  'shared-imports-nothing-of-ours: shared/bad.ts → agent/config.ts',
  'functions-import-only-shared: functions/bad.ts → agent/config.ts',
  'agent-imports-only-shared: agent/bad.ts → functions/leaf.ts',
  'core-imports-ports-and-shared: agent/core/bad.ts → agent/lib/leaf.ts',
  'core-imports-ports-and-shared: agent/core/bad-type.ts → agent/config.ts',
  'ports-import-ports-and-shared: agent/ports/bad.ts → agent/lib/leaf.ts',
  'drivers-import-ports-lib-and-shared: agent/drivers/bad.ts → agent/core/leaf.ts',
  'drivers-import-ports-lib-and-shared: agent/drivers/wired.ts → agent/compose.ts',
  'lib-imports-lib-and-shared: agent/lib/bad.ts → agent/ports/leaf.ts',
  'handlers-import-core-and-shared: agent/handlers/bad.ts → agent/lib/leaf.ts',
  'server-gets-handlers-injected: agent/server/bad.ts → agent/handlers/leaf.ts',
  'holder-imports-drivers-ports-lib-and-shared: agent/holder/bad.ts → agent/core/leaf.ts',
  'only-compose-wires: agent/wiring.ts → agent/drivers/leaf.ts',
  'nothing-imports-its-wiring: agent/core/bad-type.ts → agent/config.ts',
  'nothing-imports-its-wiring: agent/drivers/wired.ts → agent/compose.ts',
  'no-import-cycle: shared/egg.ts → shared/hen.ts',
  'no-unresolved-import: shared/lost.ts → ./nothing.ts',
  'no-development-package-in-product: shared/tool.ts → node_modules/tool/index.js',
]

const ALLOWED = {
  ...SETTINGS,
  ...LEAVES,
  'shared/good.ts': "import deep from 'used/deep'\nimport { leaf } from './leaf.ts'\nexport const good = [deep, leaf]",
  'functions/good.ts': "import { leaf } from '../shared/leaf.ts'\nexport const good = leaf",
  'agent/core/good.ts': "import type { Leaf } from '../ports/leaf.ts'\nexport type Good = Leaf",
  'agent/drivers/good.ts':
    "import { leaf } from '../lib/leaf.ts'\nimport type { Leaf } from '../ports/leaf.ts'\nexport const good: Leaf = { leaf }",
  'agent/server/good.ts': "import type { leaf } from '../handlers/leaf.ts'\nexport type Good = typeof leaf",
  'agent/handlers/good.ts': "import { leaf } from '../core/leaf.ts'\nexport const good = leaf",
  'agent/compose.ts':
    "import { leaf } from './drivers/leaf.ts'\nimport { leaf as served } from './server/leaf.ts'\nexport const compose = [leaf, served]",
  'agent/main.ts': "import { compose } from './compose.ts'\nexport const main = compose",
  'infra/good.ts':
    "import tool from 'tool'\nimport { leaf } from '../shared/leaf.ts'\nexport const good = [tool, leaf]",
}

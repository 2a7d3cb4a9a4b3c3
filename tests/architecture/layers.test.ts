import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { LAYERS_COMMAND } from '../../infra/check-tasks.ts'
import { ROOT } from '../../infra/commands.ts'
import { AREAS, forbiddenAreas } from '../../infra/lint/areas.ts'
import { withTree } from '../helpers/files/tree.ts'
import { runTool } from '../helpers/tool.ts'

interface CruiseReport {
  summary: { violations: { rule: { name: string }; from: string; to: string }[] }
}

/** Runs the layer check of `npm run check` in `root`. */
function cruise(root: string): CruiseReport {
  const [, program = '', ...args] = LAYERS_COMMAND
  return JSON.parse(
    runTool(root, [relative(join(ROOT, 'node_modules'), program), '-T', 'json', ...args]).stdout,
  ) as CruiseReport
}

function violationsOf({ summary }: CruiseReport): string[] {
  return summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`).sort()
}

interface Rule {
  name: string
  from: { path?: string }
  to: { path?: string }
}

async function readRules(): Promise<Rule[]> {
  const module = (await import(join(ROOT, '.dependency-cruiser.mjs'))) as { default: { forbidden: Rule[] } }
  return module.default.forbidden
}

/** Returns the rows of the layers table in ARCHITECTURE.md, folders with their allowed imports. `agent` means all of its folders. */
function documentedImports(): Map<string, string[]> {
  const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  const section = page.split(/^## /m).find((part) => part.startsWith('Layers\n')) ?? ''
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => [...line.matchAll(/`([\w/]+)`/g)].map(([, folder = '']) => folder))
  const folders = rows.map(([folder = '']) => folder)
  const inAgent = folders.filter((folder) => folder.startsWith('agent/'))
  return new Map(
    rows.map(([folder = '', ...others]) => [
      folder,
      others.flatMap((other) => (other === 'agent' ? inAgent.filter((each) => each !== folder) : [other])).sort(),
    ]),
  )
}

describe('the folders of this repository', () => {
  const filesOf = new Map<string, number>()
  for (const file of execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')) {
    const folder = file.slice(0, Math.max(0, file.lastIndexOf('/')))
    filesOf.set(folder, (filesOf.get(folder) ?? 0) + 1)
  }
  const foldersIn = (layer: string): string[] => {
    const inside = [...filesOf.keys()].filter((folder) => folder.startsWith(`${layer}/`))
    return [...new Set(inside.map((folder) => folder.slice(layer.length + 1).split('/')[0] ?? ''))].sort()
  }

  test('none holds more than 40 files, but for what a generator lays out', () => {
    const full = [...filesOf].filter(([folder, files]) => files > FOLDER_MAX && !folder.includes('/_generated/'))
    expect(full).toEqual([])
  })

  test.each(Object.entries(AREAS))('the areas of %s are those of their table', (layer, levels) => {
    expect(foldersIn(layer)).toEqual(levels.flat().sort())
  })

  test.each(['agent/core', 'agent/drivers', 'agent/handlers', 'agent/ports'])(
    'every file of %s is in an area',
    (layer) => {
      expect(filesOf.get(layer) ?? 0).toBe(0)
    },
  )

  test('at the root of the agent are only its entry and its modes', () => {
    expect(filesOf.get('agent')).toBe(2)
  })
})

describe('the rules about layers', () => {
  test('each refuses its violation', async () => {
    const found = await withTree(VIOLATIONS, (root) => violationsOf(cruise(root)))
    expect(found).toEqual(EXPECTED.toSorted())
    const proven = new Set(EXPECTED.map((line) => line.slice(0, line.indexOf(':'))))
    expect([...proven].sort()).toEqual((await readRules()).map(({ name }) => name).sort())
  })

  test('allow what the table of ARCHITECTURE.md lists, and nothing else', async () => {
    const rules = await readRules()
    const table = documentedImports()
    const isRefused = (from: string, to: string): boolean =>
      rules.some(({ from: { path: source = '$^' }, to: { path: target = '$^' } }) => {
        return new RegExp(source).test(`${from}/x.ts`) && new RegExp(target).test(`${to}/x.ts`)
      })
    expect(table.size).toBeGreaterThan(10)
    for (const [folder, documented] of table) {
      const others = [...table.keys()].filter((other) => other !== folder)
      const allowed = others.filter((other) => !isRefused(folder, other))
      expect([folder, ...allowed.sort()]).toEqual([folder, ...documented])
    }
  })

  test('none refuses an allowed import', async () => {
    expect(await withTree(ALLOWED, (root) => violationsOf(cruise(root)))).toEqual([])
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
  'node_modules/@jest/globals/package.json': '{ "name": "@jest/globals", "version": "1.0.0", "main": "index.js" }',
  'node_modules/@jest/globals/index.js': 'module.exports = 1',
}

const LEAVES = {
  'shared/leaf.ts': 'export const leaf = 1',
  'functions/leaf.ts': 'export const leaf = 1',
  'agent/config/agent.ts': 'export const leaf = 1',
  'agent/core/common/leaf.ts': 'export const leaf = 1',
  'agent/drivers/host/leaf.ts': 'export const leaf = 1',
  'agent/handlers/common/leaf.ts': 'export const leaf = 1',
  'agent/lib/leaf.ts': 'export const leaf = 1',
  'agent/ports/host/leaf.ts': 'export interface Leaf { leaf: number }',
  'agent/server/leaf.ts': 'export const leaf = 1',
  'infra/leaf.ts': 'export const leaf = 1',
  'sdk/leaf.ts': 'export const leaf = 1',
  'cli/leaf.ts': 'export const leaf = 1',
  'web/src/leaf.ts': 'export const leaf = 1',
  'tests/leaf.ts': 'export const leaf = 1',
}

/** One file for each forbidden import between two areas. The file makes the import. */
const AREA_VIOLATIONS = forbiddenAreas().flatMap(({ layer, area, forbidden }) =>
  forbidden.map((other) => ({
    rule: `${layer.replaceAll('/', '-')}-${area}-imports-lower-areas`,
    from: `${layer}/${area}/imports-${other}.ts`,
    to: `${layer}/${other}/named.ts`,
  })),
)

const AREA_FILES = {
  ...Object.fromEntries(
    Object.entries(AREAS).flatMap(([layer, levels]) =>
      levels.flat().map((area) => [`${layer}/${area}/named.ts`, 'export const named = 1']),
    ),
  ),
  ...Object.fromEntries(
    AREA_VIOLATIONS.map(({ from, to }) => [
      from,
      `import { named } from '${'../'.repeat(from.split('/').length - 1)}${to}'\nexport const upwards = named`,
    ]),
  ),
}

const VIOLATIONS = {
  ...SETTINGS,
  ...LEAVES,
  ...AREA_FILES,
  'agent/compose/agent.ts': "import { leaf } from '../drivers/host/leaf.ts'\nexport const compose = leaf",
  'shared/bad.ts': "import { leaf } from '../agent/config/agent.ts'\nexport const bad = leaf",
  'functions/bad.ts': "export const bad = () => import('../agent/config/agent.ts')",
  'agent/bad.ts': "import { leaf } from '../functions/leaf.ts'\nexport const bad = leaf",
  'sdk/bad.ts': "import { leaf } from '../shared/leaf.ts'\nexport const bad = leaf",
  'web/src/bad.tsx': "import type { leaf } from '../../shared/leaf.ts'\nexport type Bad = typeof leaf",
  'cli/bad.ts': "import type { leaf } from '../shared/leaf.ts'\nexport type Bad = typeof leaf",
  'agent/core/common/bad.ts': "import { leaf } from '../../lib/leaf.ts'\nexport const bad = leaf",
  'agent/core/common/bad-type.ts': "import type { leaf } from '../../config/agent.ts'\nexport type Bad = typeof leaf",
  'agent/ports/host/bad.ts': "import type { leaf } from '../../lib/leaf.ts'\nexport type Bad = typeof leaf",
  'agent/drivers/host/bad.ts': "import { leaf } from '../../core/common/leaf.ts'\nexport const bad = leaf",
  'agent/lib/bad.ts': "import type { Leaf } from '../ports/host/leaf.ts'\nexport type Bad = Leaf",
  'agent/handlers/common/bad.ts': "import { leaf } from '../../lib/leaf.ts'\nexport const bad = leaf",
  'agent/server/bad.ts': "import { leaf } from '../handlers/common/leaf.ts'\nexport const bad = leaf",
  'agent/shim/bad.ts': "import { leaf } from '../core/common/leaf.ts'\nexport const bad = leaf",
  'agent/doctor/bad.ts': "import { leaf } from '../core/common/leaf.ts'\nexport const bad = leaf",
  'agent/config/bad.ts': "import { leaf } from '../core/common/leaf.ts'\nexport const bad = leaf",
  'agent/wiring.ts': "import { leaf } from './drivers/host/leaf.ts'\nexport const bad = leaf",
  'agent/drivers/host/wired.ts': "import { compose } from '../../compose/agent.ts'\nexport const bad = compose",
  'shared/egg.ts': "import { hen } from './hen.ts'\nexport const egg = () => hen",
  'shared/hen.ts': "import { egg } from './egg.ts'\nexport const hen = () => egg",
  'shared/lost.ts': "import { nothing } from './nothing.ts'\nexport const lost = nothing",
  'tests/bench/main.ts': "import { help } from '../helper.ts'\nexport const bench = help",
  'tests/helper.ts': "import jest from '@jest/globals'\nexport const help = jest",
  'shared/tool.ts': "import tool from 'tool'\nexport const bad = tool",
}

const EXPECTED = [
  ...AREA_VIOLATIONS.map(({ rule, from, to }) => `${rule}: ${from} → ${to}`),
  'shared-imports-nothing-of-ours: shared/bad.ts → agent/config/agent.ts',
  'functions-import-only-shared: functions/bad.ts → agent/config/agent.ts',
  'agent-imports-only-shared: agent/bad.ts → functions/leaf.ts',
  'sdk-imports-nothing-of-ours: sdk/bad.ts → shared/leaf.ts',
  'cli-imports-only-the-sdk: cli/bad.ts → shared/leaf.ts',
  'web-imports-only-the-sdk: web/src/bad.tsx → shared/leaf.ts',
  'core-imports-ports-and-shared: agent/core/common/bad.ts → agent/lib/leaf.ts',
  'core-imports-ports-and-shared: agent/core/common/bad-type.ts → agent/config/agent.ts',
  'ports-import-ports-and-shared: agent/ports/host/bad.ts → agent/lib/leaf.ts',
  'drivers-import-ports-lib-and-shared: agent/drivers/host/bad.ts → agent/core/common/leaf.ts',
  'drivers-import-ports-lib-and-shared: agent/drivers/host/wired.ts → agent/compose/agent.ts',
  'lib-imports-lib-and-shared: agent/lib/bad.ts → agent/ports/host/leaf.ts',
  'handlers-import-core-and-shared: agent/handlers/common/bad.ts → agent/lib/leaf.ts',
  'server-gets-handlers-injected: agent/server/bad.ts → agent/handlers/common/leaf.ts',
  'shim-imports-drivers-ports-lib-and-shared: agent/shim/bad.ts → agent/core/common/leaf.ts',
  'doctor-imports-config-drivers-and-lib: agent/doctor/bad.ts → agent/core/common/leaf.ts',
  'config-imports-ports-lib-and-shared: agent/config/bad.ts → agent/core/common/leaf.ts',
  'only-compose-wires: agent/wiring.ts → agent/drivers/host/leaf.ts',
  'nothing-imports-its-wiring: agent/core/common/bad-type.ts → agent/config/agent.ts',
  'nothing-imports-its-wiring: agent/drivers/host/wired.ts → agent/compose/agent.ts',
  'no-import-cycle: shared/egg.ts → shared/hen.ts',
  'no-unresolved-import: shared/lost.ts → ./nothing.ts',
  'bench-runs-without-jest: tests/bench/main.ts → node_modules/@jest/globals/index.js',
  'no-development-package-in-product: shared/tool.ts → node_modules/tool/index.js',
]

const ALLOWED = {
  ...SETTINGS,
  ...LEAVES,
  'shared/good.ts': "import deep from 'used/deep'\nimport { leaf } from './leaf.ts'\nexport const good = [deep, leaf]",
  'functions/good.ts': "import { leaf } from '../shared/leaf.ts'\nexport const good = leaf",
  'web/src/good.tsx': "import { leaf } from '../../sdk/leaf.ts'\nexport const good = leaf",
  'cli/good.ts': "import { leaf } from '../sdk/leaf.ts'\nexport const good = leaf",
  'agent/core/common/good.ts': "import type { Leaf } from '../../ports/host/leaf.ts'\nexport type Good = Leaf",
  'agent/core/boxes/good.ts': "import { leaf } from '../common/leaf.ts'\nexport const good = leaf",
  'agent/drivers/pool/good.ts':
    "import { leaf } from '../../lib/leaf.ts'\nimport type { Leaf } from '../../ports/host/leaf.ts'\nimport { leaf as other } from '../host/leaf.ts'\nexport const good: Leaf = { leaf: leaf + other }",
  'agent/server/good.ts': "import type { leaf } from '../handlers/common/leaf.ts'\nexport type Good = typeof leaf",
  'agent/handlers/common/good.ts': "import { leaf } from '../../core/common/leaf.ts'\nexport const good = leaf",
  'agent/doctor/good.ts':
    "import { leaf } from '../drivers/host/leaf.ts'\nimport { leaf as set } from '../config/agent.ts'\nexport const good = [leaf, set]",
  'agent/compose/agent.ts':
    "import { leaf } from '../drivers/host/leaf.ts'\nimport { leaf as served } from '../server/leaf.ts'\nexport const compose = [leaf, served]",
  'agent/main.ts': "import { compose } from './compose/agent.ts'\nexport const main = compose",
  'infra/good.ts':
    "import tool from 'tool'\nimport { leaf } from '../shared/leaf.ts'\nexport const good = [tool, leaf]",
}

const FOLDER_MAX = 40

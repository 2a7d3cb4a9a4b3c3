import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../infra/commands.ts'
import { Campaign, type LoggedRun } from './campaign.ts'
import { JestKeeper } from './jest-keeper.ts'
import { drawMutants, keepMutants, type Mutant } from './mutants.ts'
import { formatReport } from './report.ts'
import { findMutants, listFiles, makeMutatedTree } from './tree.ts'

/**
 * `npm run mutation -- --out DIR` makes 1,500 small changes to `agent/core` and `shared`, one at a time, and lists those that no unit or
 * contract test notices. DIR gets `sample.json`, the log `runs.jsonl`, `results.jsonl` with a line for each mutant, and the report.
 * A second start with the same DIR and tree continues where the first one stopped.
 * Run no other tests on the host. In their PID namespace, the contract tests mistake instance numbers of other agents for free ones.
 *
 * - `--sample FILE` uses the mutants of an earlier sample whose lines still exist, instead of a new draw.
 * - `--seed 37 --count 1500` sets the draw.
 * - `--minutes N` stops after N minutes (0 only writes the report). SIGTERM stops after the current test file.
 * - `--tests tests/unit,tests/contract` lists the suites, in order.
 */
async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: OPTIONS })
  const out = resolve(values.out)
  mkdirSync(out, { recursive: true })
  // Other work on the machine has priority.
  setPriority(LOW_PRIORITY)
  const { mutants, gone } = readSample(out, values)
  const suites = values.tests.split(',').map((path) => listFiles(ROOT, [path]).filter((file) => TEST.test(file)))
  const keeper = new JestKeeper(() => makeMutatedTree(ROOT, join(ROOT, '.build/mutation'), mutants))
  const path = join(out, 'runs.jsonl')
  const log = (run: LoggedRun): void => appendFileSync(path, `${JSON.stringify(run)}\n`)
  const campaign = new Campaign({ mutants, suites, keeper, log })
  for (const run of readLines<LoggedRun>(path)) campaign.replay(run)
  let end = performance.now() + Number(values.minutes) * 60_000
  process.once('SIGTERM', () => (end = 0))
  try {
    await campaign.run(() => performance.now() > end)
  } finally {
    await keeper.close()
  }
  const judged = mutants.map((mutant, number) => ({ ...mutant, verdict: campaign.verdictOf(number) }))
  const results = judged.map(({ id, file, line, operator, verdict }) =>
    JSON.stringify({ id, file, line, operator, ...verdict }),
  )
  writeFileSync(join(out, 'results.jsonl'), `${results.join('\n')}\n`)
  const report = formatReport(judged, { gone, broken: campaign.brokenFiles })
  writeFileSync(join(out, 'report.md'), report)
  process.stdout.write(report.slice(0, report.indexOf('## Survivors')))
}

/** The content of `sample.json`. `tree` is a digest of the tests and the code that they run. */
interface SampleFile {
  seed: number
  tree: string
  mutants: string[]
  gone: string[]
}

/** Returns the sample of an earlier start. The first start draws a sample, or reads the `--sample` file, and writes it. */
function readSample(
  out: string,
  options: Record<'sample' | 'seed' | 'count', string>,
): { mutants: Mutant[]; gone: string[] } {
  const path = join(out, 'sample.json')
  const all = findMutants(ROOT, SOURCES)
  const tree = digestTree()
  if (existsSync(path)) {
    const sample = readSampleFile(path)
    if (sample.tree !== tree) throw new Error(`The tree is not that of ${path}: choose another --out.`)
    return { mutants: keepMutants(all, sample.mutants).kept, gone: sample.gone }
  }
  const earlier = options.sample === '' ? null : readSampleFile(resolve(options.sample))
  const seed = earlier?.seed ?? Number(options.seed)
  const { kept, gone } =
    earlier === null
      ? { kept: drawMutants(all, { seed, count: Number(options.count) }), gone: [] }
      : keepMutants(all, earlier.mutants)
  const sample: SampleFile = { seed, tree, mutants: kept.map(({ id }) => id), gone }
  writeFileSync(path, `${JSON.stringify(sample, null, 1)}\n`)
  return { mutants: kept, gone }
}

function readSampleFile(path: string): SampleFile {
  return JSON.parse(readFileSync(path, 'utf8')) as SampleFile
}

function digestTree(): string {
  const digest = createHash('sha256')
  for (const file of listFiles(ROOT, RUN).filter((file) => !OWN.test(file)))
    digest.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
  return digest.digest('hex')
}

/** Reads lines of JSON. Drops a last line that a killed process did not complete. */
function readLines<T>(path: string): T[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole !== text) writeFileSync(path, whole)
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T)
}

const SOURCES = ['agent/core', 'shared']
const RUN = ['agent', 'functions', 'infra', 'shared', 'tests']
/** This program and its tests. */
const OWN = /^tests\/(unit\/)?mutation\//
const TEST = /\.test\.ts$/
const LOW_PRIORITY = 15
const OPTIONS = {
  out: { type: 'string', default: join(ROOT, '.build/mutation') },
  sample: { type: 'string', default: '' },
  seed: { type: 'string', default: '37' },
  count: { type: 'string', default: '1500' },
  minutes: { type: 'string', default: 'Infinity' },
  tests: { type: 'string', default: 'tests/unit,tests/contract' },
} as const

await main(process.argv.slice(2))

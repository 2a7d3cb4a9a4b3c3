import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './commands.ts'
import { readChange } from './jest/change.ts'
import { hasProse, readProse } from './prose/areas.ts'
import { compareBudgets, formatBudgets, lowerBudgets, type Mismatch, parseBudgets } from './prose/budget.ts'
import { addTally, emptyTally, findingsOf, measuresOf, type ProseFinding, type Tally } from './prose/rules.ts'

/** Violations and counts of an area. */
interface AreaReport {
  lines: { file: string; rule: string; line: string }[]
  tally: Tally
}

const USAGE = `usage: npm run prose                    compares all files with infra/prose/budget.txt
       npm run prose -- FILE…           prints violations in these files
       npm run prose -- --update        lowers budgets to the current numbers, and raises none
       npm run prose -- --list AREA     prints violations in an area of the budgets
       npm run prose -- --all           prints the current numbers as budgets
`

/** `npm run prose`: checks docs, comments and strings by the rules of prose (CONTRIBUTING.md, Prose). */
function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      update: { type: 'boolean' },
      list: { type: 'string' },
      all: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) return print(USAGE, 0)
  if (positionals.length > 0) return listFiles(positionals)
  const reports = readAreas()
  if (values.list !== undefined) return listArea(reports, values.list)
  const found = Object.fromEntries([...reports].map(([area, { tally }]) => [area, measuresOf(tally)]))
  if (values.all === true) return print(formatBudgets(found), 0)
  const budgets = parseBudgets(readFileSync(BUDGET, 'utf8'))
  const lowered = lowerBudgets(budgets, found)
  if (values.update === true) writeFileSync(BUDGET, formatBudgets(lowered))
  const mismatches = compareBudgets(values.update === true ? lowered : budgets, found)
  for (const mismatch of mismatches) print(describe(mismatch, reports), 1)
  return mismatches.length > 0 ? 1 : 0
}

/** Prints violations in files. The files can belong to another checkout. */
function listFiles(paths: readonly string[]): number {
  const root = resolve(process.env['INIT_CWD'] ?? process.cwd())
  for (const path of paths) {
    const reports = new Map<string, AreaReport>()
    addFile(reports, root, relative(root, resolve(root, path)))
    for (const [area, { lines, tally }] of reports) {
      for (const { line } of lines) print(`${line}\n`, 0)
      const numbers = Object.entries(measuresOf(tally)).map(([rule, number]) => `${rule} ${number}`)
      if (tally.sentences > 0) print(`${area}: ${tally.sentences} sentences, ${numbers.join(', ')}\n`, 0)
    }
  }
  return 0
}

function listArea(reports: ReadonlyMap<string, AreaReport>, area: string): number {
  const report = reports.get(area)
  if (report === undefined) return print(`There is no area ${area}. Areas: ${[...reports.keys()].join(', ')}\n`, 2)
  for (const { line } of report.lines) print(`${line}\n`, 0)
  return 0
}

function readAreas(): Map<string, AreaReport> {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const files = [...new Set(listed.split('\0'))].filter((file) => hasProse(file) && existsSync(join(ROOT, file)))
  const reports = new Map<string, AreaReport>()
  for (const file of files) addFile(reports, ROOT, file)
  return reports
}

function addFile(reports: Map<string, AreaReport>, root: string, file: string): void {
  const source = readFileSync(join(root, file), 'utf8')
  for (const { area, passages } of readProse(file, source)) {
    const report = reports.get(area) ?? { lines: [], tally: emptyTally() }
    const { findings, tally } = findingsOf(passages)
    addTally(report.tally, tally)
    report.lines.push(...findings.map((finding) => ({ file, rule: finding.rule, line: lineOf(file, source, finding) })))
    reports.set(area, report)
  }
}

/** Returns `file:line:column rule: words: advice`. */
function lineOf(file: string, source: string, { rule, at, words, advice }: ProseFinding): string {
  const before = source.slice(0, at)
  const line = before.split('\n').length
  return `${file}:${line}:${at - before.lastIndexOf('\n')} ${rule}: ${words}: ${advice}`
}

/** Describes a number that differs from its budget. Lists violations in changed files first. */
function describe({ area, rule, budget, found }: Mismatch, reports: ReadonlyMap<string, AreaReport>): string {
  const head = `${area}: ${rule} is ${found}, the budget is ${budget}`
  if (found < budget) return `${head}: run \`npm run prose -- --update\`, which lowers it\n`
  const changed = new Set(readChange().files)
  const lines = reports.get(area)?.lines.filter((each) => each.rule === (rule === 'mean' ? 'long' : rule)) ?? []
  const near = lines.filter(({ file }) => changed.has(file))
  const shown = (near.length > 0 ? near : lines).slice(0, MOST_SHOWN).map(({ line }) => `  ${line}\n`)
  return `${head}; see \`npm run prose -- --list "${area}"\`${near.length > 0 ? '. In files that you changed:' : ':'}\n${shown.join('')}`
}

function print(text: string, exitCode: number): number {
  process.stdout.write(text)
  return exitCode
}

const BUDGET = join(ROOT, 'infra/prose/budget.txt')
const MOST_SHOWN = 20

// A reader such as `head` may leave early.
process.stdout.on('error', () => process.exit())
process.exitCode = main()

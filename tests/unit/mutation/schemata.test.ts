import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { withTree } from '../../helpers/files/tree.ts'
import { listMutants } from '../../mutation/mutants.ts'
import { switchModule, weaveMutants } from '../../mutation/schemata.ts'

const SOURCE = `const seen: string[] = []
const list = ['b', 'a']
list.filter((name) => name !== 'a').forEach((name) => { seen.push(name) })
list.includes('c') && seen.push('c')
if (list.includes('a') && list.length > 1) seen.push('both')
else seen.push('none')
console.log(seen.toSorted().join(' ') as string)
`
const MUTANTS = listMutants('a.ts', SOURCE).map((mutant, number) => ({ ...mutant, number }))

/** Runs a program and returns its output. */
function run(path: string): string {
  return execFileSync(process.execPath, [path], { encoding: 'utf8', env: { NODE_NO_WARNINGS: '1' } }).trim()
}

/** Runs the source with all its mutants, and some of them active. Returns its output and the mutants it reached. */
function runWoven(active: readonly number[]): Promise<{ printed: string; reached: string[] }> {
  return withTree({ active: active.join('\n'), reached: '' }, (root) => {
    const paths = { active: join(root, 'active'), reached: join(root, 'reached') }
    writeFileSync(join(root, 'switch.mjs'), switchModule(paths))
    writeFileSync(join(root, 'a.ts'), weaveMutants(SOURCE, MUTANTS, './switch.mjs'))
    return { printed: run(join(root, 'a.ts')), reached: readFileSync(paths.reached, 'utf8').trim().split('\n') }
  })
}

test('a source with inactive mutants behaves as before, and records those that it reaches', async () => {
  const { printed, reached } = await runWoven([])
  expect(printed).toBe('b both')
  const missed = MUTANTS.filter(({ number }) => !reached.includes(String(number)))
  expect(missed.map(({ start, end }) => SOURCE.slice(start, end))).toEqual([
    ...["seen.push('c')", "'c'"],
    ...["seen.push('none')", "seen.push('none')", "'none'"],
  ])
})

test.each(MUTANTS.filter(({ number }) => number % 4 === 2))(
  'an active mutant in line $line behaves as the changed source does ($operator)',
  async ({ number, start, end, replacement }) => {
    const changed = SOURCE.slice(0, start) + (replacement ?? ';') + SOURCE.slice(end)
    const expected = await withTree({ 'a.ts': changed }, (root) => run(join(root, 'a.ts')))
    expect((await runWoven([number])).printed).toBe(expected)
  },
)

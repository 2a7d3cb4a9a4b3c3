import { dirname } from 'node:path'
import type { Verdict } from './campaign.ts'
import type { Mutant } from './mutants.ts'
import { OPERATOR_NAMES } from './operators.ts'

export type JudgedMutant = Mutant & { verdict: Verdict }

export interface ReportNotes {
  /** Ids of an earlier sample whose line no longer exists. */
  gone: readonly string[]
  /** Test files that fail without a mutant. Their runs do not count. */
  broken: readonly string[]
}

/** Formats the report of a campaign as Markdown. The same verdicts give the same text. */
export function formatReport(mutants: readonly JudgedMutant[], { gone, broken }: ReportNotes): string {
  const living = mutants.filter(({ verdict }) => verdict.status === 'survived' || verdict.status === 'not reached')
  const lines = living.map(
    ({ file, line, operator, verdict, id }) => `${file}:${line} ${operator} (${verdict.status}) ${id}`,
  )
  return [
    '# Mutation run',
    `${mutants.length} mutants; ${gone.length} more of the earlier sample no longer exist.`,
    ...(broken.length === 0 ? [] : [`Test files that fail without a mutant: ${broken.join(', ')}`]),
    table('Part', mutants, ({ file }) => ['all', partOf(file)]),
    table('Folder', mutants, ({ file }) => [dirname(file)]),
    table('Operator', mutants, ({ operator }) => [operator]),
    '## Survivors',
    lines.toSorted().join('\n'),
    '',
  ].join('\n\n')
}

function partOf(file: string): string {
  return file.startsWith('shared/') ? 'shared' : 'agent/core'
}

function table(title: string, mutants: readonly JudgedMutant[], groupsOf: (mutant: Mutant) => string[]): string {
  const groups = new Map<string, JudgedMutant[]>()
  for (const mutant of mutants)
    for (const group of groupsOf(mutant)) groups.set(group, [...(groups.get(group) ?? []), mutant])
  const names = [...groups.keys()].sort(
    (a, b) => OPERATOR_NAMES.indexOf(a) - OPERATOR_NAMES.indexOf(b) || (a < b ? -1 : 1),
  )
  const rows = names.map((name) => row(name, groups.get(name) ?? []))
  const head = `| ${title} | Mutants | Killed | Timeout | Survived | Not reached | Unfinished | Score | Of reached |`
  return [head, '|---|---|---|---|---|---|---|---|---|', ...rows].join('\n')
}

/**
 * Returns a row of scores. The score is the share of killed or timed-out mutants, among all mutants and among those that a test reaches.
 * Unfinished mutants count as survivors, so the score only rises until the campaign ends.
 */
function row(name: string, mutants: readonly JudgedMutant[]): string {
  const count = (status: Verdict['status']): number => mutants.filter(({ verdict }) => verdict.status === status).length
  const [killed, timeout, survived] = [count('killed'), count('timeout'), count('survived')]
  const [notReached, unfinished] = [count('not reached'), count('unfinished')]
  const noticed = killed + timeout
  const scores = [noticed / mutants.length, noticed / (mutants.length - notReached)]
  const percents = scores.map((score) => (Number.isNaN(score) ? '–' : `${(100 * score).toFixed(1)} %`))
  return `| ${[name, mutants.length, killed, timeout, survived, notReached, unfinished, ...percents].join(' | ')} |`
}

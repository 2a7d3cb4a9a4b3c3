import type { Finding, FindingLevel } from './findings.ts'
import type { FixResult } from './fix.ts'

export interface DoctorReport {
  program: { version: string; commit: string | null }
  findings: readonly Finding[]
  fixes: readonly FixResult[]
}

/** Returns true if the checks found nothing wrong. */
export function isSound({ findings }: DoctorReport): boolean {
  return findings.every(({ level }) => level !== 'problem')
}

/** Formats a report as JSON. Pure. */
export function formatJson(report: DoctorReport): string {
  const { program, findings, fixes } = report
  const checks = findings.map(({ check, level, code, evidence, remedy, fix }) => ({
    ...{ check, level, code, evidence, remedy },
    fixable: fix !== null,
  }))
  return JSON.stringify({ status: isSound(report) ? 'ok' : 'problems', program, checks, fixes }, null, 2)
}

/** Formats a report for people: one entry for each finding, then the sum. Pure. */
export function formatText(report: DoctorReport): string {
  const { findings, fixes } = report
  const lines = findings.flatMap(({ check, level, evidence, remedy, fix }) => [
    `${LABELS[level]} ${check.padEnd(CHECK_WIDTH)} ${evidence}`,
    ...(remedy === null || level === 'unknown'
      ? []
      : [`${INDENT}→ ${remedy}${fix === null ? '' : ' (--fix does it)'}`]),
  ])
  const done = fixes.map(({ what, error }) => (error === null ? `Done: ${what}` : `Failed: ${what}: ${error}`))
  return [...done, ...lines, sumOf(findings)].join('\n')
}

function sumOf(findings: readonly Finding[]): string {
  const count = (level: FindingLevel): number => findings.filter((finding) => finding.level === level).length
  const [problems, notes, unknown] = [count('problem'), count('note'), count('unknown')]
  const parts = [
    problems === 0 ? 'No problems' : problems === 1 ? '1 problem' : `${problems} problems`,
    ...(notes === 0 ? [] : [notes === 1 ? '1 note' : `${notes} notes`]),
    ...(unknown === 0 ? [] : [`${unknown} not checked`]),
  ]
  return `${parts.join(', ')}.`
}

const LABELS: Readonly<Record<FindingLevel, string>> = {
  ok: 'ok      ',
  note: 'note    ',
  problem: 'PROBLEM ',
  unknown: 'unknown ',
}
const CHECK_WIDTH = 12
const INDENT = ' '.repeat(9 + CHECK_WIDTH + 1)

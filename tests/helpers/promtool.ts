import { spawnSync } from 'node:child_process'
import { findDebianProgram } from '../../infra/debian/program.ts'

/** Returns what promtool reports about metrics in the text format; '' if there is nothing to mend. */
export async function lintFigures(text: string): Promise<string> {
  const { status, output } = await promtool(['check', 'metrics'], text)
  return status === 0 ? output : `exit ${status}\n${output}`
}

/** Returns what promtool reports about a file of rules, and its exit status: 0 if all are valid. */
export function checkRules(path: string): Promise<{ status: number | null; output: string }> {
  return promtool(['check', 'rules', path])
}

/** Returns the names of the figures of ours in the text of rules or of a dashboard. */
export function figuresIn(text: string): string[] {
  return [...new Set(text.match(/\b(?:boxyard|process)_[a-z_]+\b/g))].sort()
}

async function promtool(args: string[], input = ''): Promise<{ status: number | null; output: string }> {
  const program = await findDebianProgram('prometheus', 'usr/bin/promtool')
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

/** Returns the value of a series, named as in the text, or null. */
export function figureOf(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

import { spawnSync } from 'node:child_process'
import { findDebianProgram } from '../../infra/debian/program.ts'

/** Returns promtool's report on metrics in the text format, or '' if there is nothing to fix. */
export async function lintFigures(text: string): Promise<string> {
  const { status, output } = await promtool(['check', 'metrics'], text)
  return status === 0 ? output : `exit ${status}\n${output}`
}

/** Returns promtool's report on a rules file and its exit status. Status 0 means that all rules are valid. */
export function checkRules(path: string): Promise<{ status: number | null; output: string }> {
  return promtool(['check', 'rules', path])
}

/** Returns the names of our metrics in the text of rules or a dashboard. */
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

import { spawnSync } from 'node:child_process'
import { findDebianProgram } from '../../infra/debian/program.ts'

/** Returns what promtool reports about metrics in the text format; '' if there is nothing to mend. */
export async function lintFigures(text: string): Promise<string> {
  const program = await findDebianProgram('prometheus', 'usr/bin/promtool')
  const { status, stdout, stderr } = spawnSync(program, ['check', 'metrics'], { input: text, encoding: 'utf8' })
  const output = `${stdout}${stderr}`
  return status === 0 ? output : `exit ${status}\n${output}`
}

/** Returns the value of a series, named as in the text, or null. */
export function figureOf(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

import { spawnSync } from 'node:child_process'
import { findDebianProgram } from '../../infra/debian/program.ts'

/** What Prometheus' own tool says of figures in its text format; '' is: nothing to mend. */
export async function lintFigures(text: string): Promise<string> {
  const program = await findDebianProgram('prometheus', 'usr/bin/promtool')
  const { status, stdout, stderr } = spawnSync(program, ['check', 'metrics'], { input: text, encoding: 'utf8' })
  const said = `${stdout}${stderr}`
  return status === 0 ? said : `exit ${status}\n${said}`
}

/** The value of a series, named as it stands in the text; null if it is not there. */
export function figureOf(text: string, series: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length + 1))
}

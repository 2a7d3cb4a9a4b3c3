import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { OpenedBox } from '../context/box-host.ts'
import { UsageError } from '../output/failures.ts'
import { writeWhole } from './keys.ts'

/**
 * Checks that a host name still leads to the same deployment. OpenSSH cannot check this, because its other end is a program of this
 * machine. Reports a change by the user's own choice: a login, a flag or the environment. Refuses a change by a `.boxyard` file. `names` is
 * the path of the file that remembers the deployments.
 * @throws UsageError for a change by a `.boxyard` file
 */
export function checkDeployment(
  host: string,
  { connection, box }: OpenedBox,
  { names, report }: { names: string; report: (message: string) => void },
): void {
  const { url, chosen, context } = connection
  const before = deploymentOf(names, host)
  if (before === url) return
  if (before !== null && chosen?.hasContext === true)
    throw new UsageError(
      `${host} is a box of ${before}, but ${chosen.path} selects ${url}. To reach that one: ssh ${box.name}.${box.project}.${context}.boxyard`,
    )
  if (before !== null) report(`${host} is now a box of ${url}. Before, it was a box of ${before}.`)
  remember(names, host, url)
}

function deploymentOf(path: string, host: string): string | null {
  if (!existsSync(path)) return null
  const line = readFileSync(path, 'utf8')
    .split('\n')
    .findLast((each) => each.startsWith(`${host} `))
  return line?.slice(host.length + 1) ?? null
}

function remember(path: string, host: string, url: string): void {
  appendFileSync(path, `${host} ${url}\n`, { mode: 0o600 })
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  if (lines.length <= NAMES_MAX) return
  // The last line of a name counts. A forgotten name is learned again.
  const byName = new Map(lines.map((line) => [line.split(' ')[0], line]))
  writeWhole(path, `${[...byName.values()].slice(-NAMES_MAX / 2).join('\n')}\n`)
}

const NAMES_MAX = 4000

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './commands.ts'

/**
 * `npm run audit` looks for known faults of the packages that the service runs with. It judges the lock file without a network. A package
 * that its authors have abandoned (`deprecated`) and one without a checksum count as faults. Then it asks the registry for vulnerabilities.
 * A registry without this query is reported, and is not a fault. Exits with 1 if there is a fault.
 */
async function main(): Promise<void> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as LockFile
  const packages = productionPackages(lock)
  const faults = packages.flatMap(lockFaults)
  const answer = await askRegistry()
  if ('vulnerabilities' in answer) faults.push(...Object.values(answer.vulnerabilities).map(describe))
  for (const fault of faults) process.stdout.write(`FAULT ${fault}\n`)
  const asked =
    'unanswered' in answer ? `the registry did not answer (${answer.unanswered})` : 'checked against the registry'
  process.stdout.write(`${packages.length} production packages, ${faults.length} faults, ${asked}\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

/** Lists the installed packages without development packages, by their paths in `node_modules`. */
function productionPackages({ packages }: LockFile): [path: string, entry: LockEntry][] {
  return Object.entries(packages).filter(([path, { dev = false, link = false }]) => path !== '' && !dev && !link)
}

function lockFaults([path, { version, deprecated, integrity }]: [path: string, entry: LockEntry]): string[] {
  const name = `${path.replace(/^.*node_modules\//, '')} ${version}`
  const faults = integrity === undefined ? [`${name} has no checksum in package-lock.json`] : []
  return deprecated === undefined ? faults : [...faults, `${name} is deprecated: ${deprecated}`]
}

/** Uses npm, with the versions of the lock file. npm exits with 1 if it found something. */
function askRegistry(): Promise<Answer> {
  const args = ['audit', '--omit=dev', '--package-lock-only', '--json']
  return new Promise((resolve) => {
    execFile('npm', args, { cwd: ROOT, timeout: ASK_MS, maxBuffer: MAX_BYTES }, (_, stdout, stderr) => {
      resolve(readAnswer(stdout) ?? { unanswered: lastLine(stderr) })
    })
  })
}

function readAnswer(stdout: string): Answer | null {
  try {
    const { vulnerabilities, message } = JSON.parse(stdout) as { vulnerabilities?: Vulnerabilities; message?: string }
    if (vulnerabilities !== undefined) return { vulnerabilities }
    return message === undefined ? null : { unanswered: lastLine(message) }
  } catch {
    return null
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 200) || 'no answer'
}

function describe({ name, severity, range, via }: Vulnerability): string {
  const causes = via.map((cause) => (typeof cause === 'string' ? cause : `${cause.title} ${cause.url}`))
  return `${name} ${range} (${severity}): ${causes.join('; ')}`
}

interface LockFile {
  packages: Record<string, LockEntry>
}

interface LockEntry {
  version?: string
  dev?: boolean
  link?: boolean
  deprecated?: string
  integrity?: string
}

interface Vulnerability {
  name: string
  severity: string
  range: string
  /** The advisories, or the names of the packages that have them. */
  via: (string | { title: string; url: string })[]
}

type Vulnerabilities = Record<string, Vulnerability>
type Answer = { vulnerabilities: Vulnerabilities } | { unanswered: string }

const ASK_MS = 60_000
const MAX_BYTES = 16 * 1024 ** 2

await main()

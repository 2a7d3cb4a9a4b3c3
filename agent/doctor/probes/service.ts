import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import type { FrontAddress } from '../../config/front.ts'
import { packagedDataDir } from '../../config/given.ts'
import { inspectDatabase } from '../../drivers/store/inspect.ts'
import { unitOf } from '../../lib/disk/data-lock.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { run } from '../../lib/run.ts'
import type { Seen, ServiceFacts, UnitFacts } from '../facts.ts'
import { look } from './look.ts'
import { isTrustedListener } from './ports.ts'

/** Looks at the service's data, its process, its units, and its own report. */
export async function probeService(dataDir: string, front: FrontAddress): Promise<ServiceFacts> {
  const database = join(dataDir, 'boxyard.db')
  const facts = await look(() => (existsSync(database) ? inspectDatabase(database) : null))
  return {
    schema: map(facts, (value) => value?.schema ?? null),
    expectsPool: map(facts, (value) => value !== null && value.poolId !== null),
    hasPoolImage: existsSync(join(dataDir, 'pool.img')),
    holder: await look(() => findHolder(join(dataDir, 'lock'))),
    url: urlOf(front),
    health: await look(async () => healthSchema.parse(await askService(front, '/healthz', dataDir))),
    runningVersion: await askService(front, '/version', dataDir).then(
      (answer) => versionAnswer.safeParse(answer).data ?? null,
      () => null,
    ),
    units: await look(readUnits),
    lastFailure: findLastFailure((await readJournal(dataDir)) || tryReadText(join(dataDir, 'log/agent.log'))),
  }
}

function map<T, U>(seen: Seen<T>, change: (value: T) => U): Seen<U> {
  return 'value' in seen ? { value: change(seen.value) } : seen
}

function urlOf({ host, port }: FrontAddress): string {
  return `http://${urlHost(host)}:${port}`
}

function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Asks the front, and returns the JSON of the answer. It asks as the administrator if this process may read its token, and only root or
 * its own user can be listening there.
 */
export async function askService(front: FrontAddress, path: string, dataDir: string): Promise<unknown> {
  const token = isTrustedListener(front) ? tryReadText(join(dataDir, 'admin.token')).trim() : ''
  const answer = await fetch(`${urlOf(front)}${path}`, {
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch((error: unknown) => {
    throw new Error(`no answer (${causeOf(error)})`)
  })
  return answer.json()
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = (cause as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause)
}

/** Finds the process that has locked a file, by the kernel's list of locks. Trying the lock would disturb an agent that starts. */
function findHolder(path: string): { pid: number; unit: string | null } | null {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino
  if (inode === undefined) return null
  const line = new RegExp(`^\\d+: FLOCK +\\S+ +WRITE (\\d+) \\w+:\\w+:${inode} `, 'm').exec(tryReadText('/proc/locks'))
  if (line === null) return null
  const pid = Number(line[1])
  return { pid, unit: unitOf(tryReadText(`/proc/${pid}/cgroup`)) }
}

async function readUnits(): Promise<UnitFacts[] | null> {
  if (!existsSync('/run/systemd/system')) return null
  const fields = ['Id', 'LoadState', 'ActiveState', 'SubState', 'UnitFileState', 'Result', 'StatusText']
  const { stdout, exitCode, stderr } = await run('systemctl', ['show', '-p', fields.join(','), ...SERVICE_UNITS], {
    timeoutMs: TIMEOUT_MS,
  })
  if (exitCode !== 0) throw new Error(stderr.trim() || 'systemctl failed')
  return parseUnits(stdout)
}

// The agent of the package logs only there. Empty for the deployment of a checkout, or if it cannot be read.
async function readJournal(dataDir: string): Promise<string> {
  if (packagedDataDir() !== dataDir) return ''
  const options = ['-u', SERVICE_UNITS[0] ?? '', '-o', 'cat', '-n', '2000', '-q', '--no-pager']
  const answer = await run('journalctl', options, { timeoutMs: TIMEOUT_MS, maxOutputBytes: 4 * LOG_CHARACTERS }).catch(
    () => null,
  )
  return answer?.stdout ?? ''
}

/** Parses `systemctl show` of several units. Pure. */
export function parseUnits(text: string): UnitFacts[] {
  return text
    .trim()
    .split(/\n\n+/)
    .map((block) => {
      const field = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(block)?.[1] ?? ''
      const [name, load, active, sub] = ['Id', 'LoadState', 'ActiveState', 'SubState'].map(field) as Quadruple
      return {
        name,
        load,
        active,
        sub,
        file: field('UnitFileState'),
        result: field('Result'),
        status: field('StatusText'),
      }
    })
}

/** Returns the message of the last line of a log that ended the agent, unless it served again after that. Pure. */
export function findLastFailure(log: string): string | null {
  let failure: string | null = null
  for (const line of log.slice(-LOG_CHARACTERS).split('\n')) {
    if (!line.includes('"fatal":true') && !line.includes('"ready":true')) continue
    const parsed = logLine.safeParse(orNull(line))
    if (parsed.success) failure = parsed.data.fatal === true ? parsed.data.message : null
  }
  return failure
}

function orNull(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

const fault = z.object({ code: z.string(), evidence: z.string(), remedy: z.string() })
const healthSchema = z.object({
  status: z.string(),
  // Clients without a token do not get it.
  problems: z.array(fault).nullable().default(null),
})
const versionAnswer = z.object({ version: z.string(), commit: z.string().nullable() })
const logLine = z.object({ message: z.string(), fatal: z.boolean().optional() })

/** The units of a release. */
export const SERVICE_UNITS = ['boxyard-agent.service', 'boxyard-boxes.service', 'boxyard-front.service']
type Quadruple = [string, string, string, string]
const LOG_CHARACTERS = 1024 * 1024
/** The timeout of the front for the agent. */
const ANSWER_MS = 30_000
const TIMEOUT_MS = 10_000

import { setTimeout as pause } from 'node:timers/promises'
import type { TestService } from '../../helpers/service.ts'
import { judge, percentile } from '../figures.ts'
import { crowdsOf, openCrowds } from './crowds.ts'
import { BOX_ATTACKS, REQUEST_ATTACKS } from './loud.ts'
import type { ActName, QuietTenant } from './quiet.ts'
import { withTenants } from './tenants.ts'
import { type ServiceUsage, usageOf } from './usage.ts'

/**
 * Runs all attackers at once for `minutes`, while another tenant works. The attackers are unauthenticated clients and a tenant with a box
 * for each attack. Prints a line each minute. None of the other tenant's requests may fail. The agent's and the front's memory and
 * descriptors must not grow. In the last quarter they may be at most a tenth above the second quarter. The limits are a new deployment's.
 */
export async function benchSoak(minutes: number): Promise<void> {
  if (!(minutes >= 4)) throw new Error('A soak takes at least four minutes, of which the quarters are compared.')
  await withTenants({ BOXYARD_RATE_LIMIT: '200', BOXYARD_RATE_BURST: '400' }, async ({ service, quiet, loud }) => {
    const ends: (() => Promise<void>)[] = []
    try {
      for (const [index, line] of Object.values(BOX_ATTACKS).entries()) {
        await loud.create(`attack-${index}`)
        ends.push(await loud.run(line, `attack-${index}`))
      }
      for (const begin of Object.values(REQUEST_ATTACKS)) ends.push(begin(loud))
      for (const crowd of Object.values(crowdsOf(service, quiet.pageUrl))) ends.push(await openCrowds(crowd))
      await watch({ service, quiet, minutes })
    } finally {
      for (const end of ends.reverse()) await end().catch(() => undefined)
    }
  })
}

/** Results of a minute. */
interface Minute {
  usage: ServiceUsage
  failed: number
}

async function watch(parts: { service: TestService; quiet: QuietTenant; minutes: number }): Promise<void> {
  const { service, quiet, minutes } = parts
  const seen: Minute[] = []
  let index = 0
  for (let minute = 1; minute <= minutes; minute += 1) {
    const end = performance.now() + 60_000
    const times = new Map<ActName, number[]>()
    const problems: string[] = []
    for (; performance.now() < end; index += 1) {
      for (const name of ACTS) {
        const begun = performance.now()
        await quiet.acts[name](index).catch((error: unknown) => problems.push(`${name}: ${String(error)}`))
        times.set(name, [...(times.get(name) ?? []), performance.now() - begun])
      }
      await pause(PAUSE_MS)
    }
    const usage = usageOf(service)
    seen.push({ usage, failed: problems.length })
    printMinute(minute, { times, problems, usage })
  }
  printEnd(seen)
}

interface MinuteFigures {
  times: ReadonlyMap<ActName, readonly number[]>
  problems: readonly string[]
  usage: ServiceUsage
}

function printMinute(minute: number, { times, problems, usage }: MinuteFigures): void {
  const p95 = [...times].map(([name, values]) => `${name} ${percentile(values, 0.95).toFixed(0)}`).join(' ')
  const requests = [...times.values()].reduce((sum, values) => sum + values.length, 0)
  const held = WHO.map((who) => `${who} ${usage[who].mib} MiB ${usage[who].descriptors} fds`).join(', ')
  process.stdout.write(`minute ${minute}: ${requests} done, ${problems.length} failed; p95 ms ${p95}; ${held}\n`)
  for (const problem of problems.slice(0, 3)) process.stdout.write(`  ${problem.slice(0, 300)}\n`)
}

function printEnd(seen: readonly Minute[]): void {
  const quarter = Math.max(1, Math.floor(seen.length / 4))
  const failed = seen.reduce((sum, minute) => sum + minute.failed, 0)
  process.stdout.write(`failed requests of the neighbour: ${failed} ${judge(failed === 0, 'FALLS SHORT')}\n`)
  for (const who of WHO) {
    for (const what of ['mib', 'descriptors'] as const) {
      const middle = (part: readonly Minute[]): number =>
        percentile(
          part.map(({ usage }) => usage[who][what]),
          0.5,
        )
      const [early, late] = [middle(seen.slice(quarter, 2 * quarter)), middle(seen.slice(-quarter))]
      const mark = judge(late <= 1.1 * early, 'GROWS')
      process.stdout.write(`${who} ${what}: ${early} in the second quarter, ${late} in the last ${mark}\n`)
    }
  }
}

const WHO = ['agent', 'front'] as const
const ACTS: readonly ActName[] = [
  ...(['exec', 'create', 'delete', 'edge', 'read', 'files', 'snapshot', 'terminal', 'ticket', 'events'] as const),
]
const PAUSE_MS = 100

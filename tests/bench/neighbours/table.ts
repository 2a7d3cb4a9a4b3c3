import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestService } from '../../helpers/service.ts'
import { judge, percentile } from '../figures.ts'
import { COMPRESSION_ATTACKS } from './compression.ts'
import { crowdsOf, framesAt, openCrowds } from './crowds.ts'
import { BOUND_ATTACKS, BOX_ATTACKS, LOUD, type LoudTenant, REQUEST_ATTACKS } from './loud.ts'
import { type ActName, type QuietTenant } from './quiet.ts'
import { type Tenants, withTenants } from './tenants.ts'
import { prepareTransfers, transfersOf } from './transfers.ts'
import { type ServiceUsage, usageOf } from './usage.ts'

/**
 * Times what a tenant sees while a box of another tenant attacks. Reports the p95 of exec, create and the edge for one attack after the
 * other, with the idle values. The attacker has its own token. The limits are a new deployment's, but the request rate is unlimited.
 */
export async function benchNeighbours(): Promise<void> {
  await benchTransfers()
  await withTenants(SETTINGS, async ({ quiet, loud }) => {
    await measure(quiet)
    const idle = await measure(quiet)
    print('idle', { busy: idle, idle })
    const attacks = [
      ...Object.entries(BOX_ATTACKS).map(([name, line]) => ({ name, begin: () => loud.run(line) })),
      ...Object.entries(BOUND_ATTACKS).map(([name, { line, bounds }]) => ({
        name,
        begin: () => loud.run(line, 'box', bounds),
      })),
      ...Object.entries(COMPRESSION_ATTACKS).map(([name, begin]) => ({ name, begin: () => begin(loud) })),
      ...Object.entries(REQUEST_ATTACKS).map(([name, begin]) => ({ name, begin: async () => begin(loud) })),
      ...Object.entries(framesAt(quiet.pageUrl)).map(([name, crowd]) => ({ name, begin: () => openCrowds(crowd) })),
    ]
    for (const { name, begin } of attacks) {
      const stop = await begin()
      try {
        print(name, { busy: await measure(quiet), idle })
      } finally {
        await stop()
      }
    }
  })
}

/**
 * Times exec and `/version` while another tenant transfers as many bytes of each kind as it can. `only` selects kinds by the start of their
 * name.
 */
export async function benchTransfers(only = ''): Promise<void> {
  const backups = mkdtempSync(join(tmpdir(), 'boxyard-bench-backups-'))
  try {
    const settings = { ...SETTINGS, ...UNBOUNDED, BOXYARD_BACKUP_DIR: backups }
    await withTenants(settings, (tenants) => timeTransfers(tenants, only))
  } finally {
    rmSync(backups, { recursive: true, force: true })
  }
}

async function timeTransfers({ service, quiet, loud }: Tenants, only: string): Promise<void> {
  await prepareTransfers(loud)
  await measure(quiet, BESIDE_TRANSFERS)
  const idle = await measure(quiet, BESIDE_TRANSFERS)
  print('idle', { busy: idle, idle })
  for (const [name, begin] of Object.entries(transfersOf(service, loud))) {
    if (!name.startsWith(only)) continue
    const stop = await begin()
    try {
      // The service has to compile the code of these transfers first, as it did before the idle measurement.
      await measure(quiet, BESIDE_TRANSFERS)
      print(name, { busy: await measure(quiet, BESIDE_TRANSFERS), idle })
    } finally {
      await stop()
    }
  }
}

/**
 * Counts a tenant's failures while unauthenticated clients and another tenant attack. Runs one attack after the other, at the size that
 * once made the service unavailable. Prints the tenant's p95, and the agent's and the front's memory and descriptors. None of the tenant's
 * requests may fail.
 */
export async function benchAttacks(): Promise<void> {
  await withTenants(SETTINGS, async ({ service, quiet, loud }) => {
    await measure(quiet)
    const idle = await measure(quiet)
    print('idle', { busy: idle, idle })
    for (const [name, begin] of Object.entries(attacksOf(service, quiet, loud))) {
      const before = usageOf(service)
      const stop = await begin()
      try {
        const during = await measure(quiet)
        print(name, { busy: during, idle }, false)
        tell(before, usageOf(service), during)
      } finally {
        await stop()
      }
    }
    const after = await measure(quiet)
    print('idle again', { busy: after, idle }, false)
    tell(usageOf(service), usageOf(service), after)
  })
}

type Attacks = Record<string, () => Promise<() => Promise<void>>>

function attacksOf(service: TestService, quiet: QuietTenant, loud: LoudTenant): Attacks {
  const crowds = Object.entries(crowdsOf(service, quiet.pageUrl))
  return {
    ...Object.fromEntries(crowds.map(([name, crowd]) => [name, () => openCrowds(crowd)])),
    'tokens that mint tokens': async () => loud.flood(4, () => mintAndUse(service, loud)),
    'terminals of 12 boxes': async () => {
      const names = Array.from({ length: 12 }, (_, index) => `pty-${index}`)
      for (const name of names) {
        await loud.create(name)
        const line = 'for i in $(seq 600); do sleep 3600 3<>/dev/ptmx & done; touch /tmp/open; wait'
        await loud.client.shell('loud', name, line, { no_hup: true })
      }
      for (const name of names) await loud.client.shell('loud', name, 'until [ -e /tmp/open ]; do sleep 1; done')
      return async () => {
        for (const name of names) await loud.client.delete(`${LOUD}/${name}`)
      }
    },
  }
}

/** Creates a token and uses up with it what projects share, which is tickets and event streams. */
async function mintAndUse(service: TestService, { client }: LoudTenant): Promise<void> {
  const { body } = await client.post('/v1/tokens', { name: 'more', projects: ['loud'], permissions: ['read', 'exec'] })
  const token = body.token as string | undefined
  if (token === undefined) return
  const options = { token }
  for (let index = 0; index < 20; index += 1)
    await client.post(`${LOUD}/box/tickets`, { operation: 'openConsole' }, options)
  const streams = Array.from({ length: 20 }, () =>
    fetch(`${service.url}/v1/projects/loud/events?since=now`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      signal: AbortSignal.timeout(5_000),
    }).then((answer) => answer.text()),
  )
  await Promise.allSettled(streams)
}

/** p95 in milliseconds, number of failed requests, and the start of one error. */
interface Figures {
  p95: Partial<Record<Timed, number>>
  failed: number
  problem: string
}

async function measure({ acts }: QuietTenant, timed: readonly TimedAct[] = TIMED): Promise<Figures> {
  const figures: Figures = { p95: {}, failed: 0, problem: '' }
  const attempt = async (name: ActName, index: number): Promise<number> => {
    const begun = performance.now()
    await acts[name](index).catch((error: unknown) => {
      figures.failed += 1
      figures.problem ||= `${name}: ${String(error)}`
    })
    return performance.now() - begun
  }
  for (const [name, count] of timed) {
    const values: number[] = []
    for (let index = 0; index < count; index += 1) values.push(await attempt(name, index))
    figures.p95[name] = percentile(values, 0.95)
    if (name === 'create') for (let index = 0; index < count; index += 1) await attempt('delete', index)
  }
  if (timed === TIMED) for (const name of ONCE) await attempt(name, 0)
  return figures
}

function print(name: string, { busy, idle }: { busy: Figures; idle: Figures }, isTimed = true): void {
  const timed = Object.keys(busy.p95) as Timed[]
  const timesOf = (key: Timed): [number, number] => [busy.p95[key] ?? Number.NaN, idle.p95[key] ?? Number.NaN]
  const cells = timed.map((key) => {
    const [value, usual] = timesOf(key)
    return `${key} ${value.toFixed(1)} ms ${(value / usual).toFixed(1)}×`.padEnd(26)
  })
  const holds = busy.failed === 0 && (!isTimed || timed.every((key) => timesOf(key)[0] <= MOST * timesOf(key)[1]))
  const target = isTimed ? `target ≤ ${MOST}×` : 'target 0 failed'
  process.stdout.write(`${name.padEnd(26)} ${cells.join(' ')} ${target}  ${judge(holds, 'FALLS SHORT')}\n`)
  if (busy.failed > 0) process.stdout.write(`  ${busy.failed} failed, as ${busy.problem.slice(0, 300)}\n`)
}

function tell(before: ServiceUsage, during: ServiceUsage, { failed }: Figures): void {
  const cells = (['agent', 'front'] as const).map((who) => {
    const [one, other] = [before[who], during[who]]
    return `${who} ${one.mib} → ${other.mib} MiB, ${one.descriptors} → ${other.descriptors} descriptors`
  })
  process.stdout.write(`  ${failed} failed; ${cells.join('; ')}\n`)
}

/** The rate of transfer requests is unlimited, because the benchmark measures their bytes. */
const UNBOUNDED = { BOXYARD_RATE_LIMIT: '1000000', BOXYARD_RATE_BURST: '1000000' }
const SETTINGS = { BOXYARD_SPARE_SLOTS: '8' }
type Timed = 'exec' | 'create' | 'edge' | 'version'
type TimedAct = readonly [Timed, number]
const BESIDE_TRANSFERS: readonly TimedAct[] = [
  ['exec', 200],
  ['version', 400],
]
const TIMED: readonly TimedAct[] = [
  ['exec', 100],
  ['create', 30],
  ['edge', 300],
]
const ONCE: readonly ActName[] = ['read', 'files', 'snapshot', 'terminal', 'ticket', 'events']
const MOST = 2

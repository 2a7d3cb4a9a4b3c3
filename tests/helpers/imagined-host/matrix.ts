import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { findDifferences } from './agreement.ts'
import { AgentLife, type CallFault, type OperationAnswer, type RecordedCall } from './life.ts'
import { copyWorld, createWorld, type ImaginedWorld, writeContent } from './world.ts'

/** Sends a request to the agent. Null if the agent died before it answered. */
export type Ask = (method: string, target: string, body?: unknown) => Promise<OperationAnswer | null>

/** An action. The tests inject a fault into each of its calls. */
export interface Scenario {
  /** Creates the required state, with an agent that has no fault. `act` receives the returned text. */
  prepare(site: FaultSite): Promise<string | void>
  act(ask: Ask, given: string): Promise<OperationAnswer | null>
  /**
   * Throws unless the effect of a successful answer holds. Without such an answer, the action can have happened completely or not at all.
   */
  holds?(site: FaultSite, outcome: CaseOutcome): Promise<void>
  /** Time for which its work continues after the answer. Default: 0. */
  lastsMs?: number
}

/** Outcome of an action. `isDone`: the answer was a success. `wasKilled`: another agent has replaced the first. */
export interface CaseOutcome {
  isDone: boolean
  answer: OperationAnswer | null
  wasKilled: boolean
}

/** An agent without a fault, and its world. */
export interface FaultSite {
  ask(method: string, target: string, body?: unknown): Promise<OperationAnswer>
  /** Advances time. */
  pass(ms: number): Promise<void>
  /** Writes files into the root of a box, or into a volume. */
  write(owner: `box ${string}` | `volume ${string}`, content: string): Promise<void>
  read(owner: `box ${string}` | `volume ${string}`): Promise<string>
  life: AgentLife
}

/** The project of all scenarios. */
export const PROJECT = '/v1/projects/faults'

/** Defines the tests of an action. Each test injects a fault into one of its calls. All tests start in equal worlds. */
export async function defineKillMatrix(name: string, scenario: Scenario): Promise<void> {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'boxyard-imagined-'))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  const { bench, calls } = await begin(directory, scenario).catch((error: unknown) => {
    remove()
    throw error
  })
  const sequence = calls.map(({ call, nth, hasEffect, isLate }, index) =>
    [`${index + 1}.`, call, `(${nth})`, ...(hasEffect ? ['effect'] : []), ...(isLate ? ['after the answer'] : [])].join(
      ' ',
    ),
  )
  const explained = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (error instanceof Error) error.message += `\n\nThe calls of ${name}:\n${sequence.join('\n')}`
      throw error
    }
  }
  // A hook of the file, since hooks of a group do not run if a filter skips all of its tests.
  afterAll(async () => {
    await bench.close()
    remove()
  })
  describe(name, () => {
    test.each(killsOf(calls))('killed $moment $call ($nth)', (fault) =>
      explained(() => provesKill(bench, scenario, fault)),
    )
    test.each(failuresOf(calls))('where $call ($nth) fails: $moment', (fault) =>
      explained(() => provesFailure(bench, scenario, fault)),
    )
  })
}

async function begin(directory: string, scenario: Scenario): Promise<{ bench: Bench; calls: RecordedCall[] }> {
  const bench = new Bench(directory, await prepare(directory, scenario))
  return { bench, calls: await record(bench, scenario) }
}

/**
 * A kill leaves the effects of the calls before it. So a kill before a call leaves the same state as one after the previous effect. Returns
 * both if an answer came between them, or if one call is within another.
 */
function killsOf(calls: readonly RecordedCall[]): CallFault[] {
  const effects = calls.filter(({ hasEffect }) => hasEffect)
  return effects.flatMap(({ call, nth, isLate, isWithin }, index) => {
    const isFirst = isLate !== effects[index - 1]?.isLate
    const moments = isFirst || isWithin ? (['before', 'after'] as const) : (['after'] as const)
    return moments.map((moment) => ({ call, nth, moment }))
  })
}

function failuresOf(calls: readonly RecordedCall[]): CallFault[] {
  return calls.flatMap(({ call, nth, hasEffect }) => {
    // The edge keeps every change that it received, even if the call fails.
    const moments = call.startsWith('edge.') ? REJECT : hasEffect ? THROW_OR_REJECT : THROW
    return moments.map((moment) => ({ call, nth, moment }))
  })
}

interface Prepared {
  database: Buffer
  world: ImaginedWorld
  now: number
  /** The box that no scenario changes. */
  bystander: unknown
  given: string
}

async function prepare(dataDir: string, scenario: Scenario): Promise<Prepared> {
  const world = createWorld()
  const life = await AgentLife.begin({ world, dataDir }, 1_764_000_000_000)
  const site = siteOf(life)
  await site.ask('POST', `${PROJECT}/boxes`, { name: 'bystander' })
  await site.ask('POST', `${PROJECT}/data`, { name: 'others', size_gb: 1 })
  await site.ask('POST', `${PROJECT}/data/others/attach`, { box: 'bystander', path: '/srv' })
  for (const owner of ['box bystander', 'volume others'] as const) await site.write(owner, 'untouched')
  const given = (await scenario.prepare(site)) ?? ''
  await untilAgreed(life, 60_000)
  const bystander = await bystanderOf(life)
  await life.end()
  const database = readFileSync(join(dataDir, 'boxyard.db'))
  return { database, world: copyWorld(world), now: life.now, bystander, given }
}

/** Agents that have just started in the prepared world. Reuses an agent that left its world unchanged. */
class Bench {
  readonly prepared: Prepared
  readonly #dataDir: string
  #spare: AgentLife | null = null

  constructor(dataDir: string, prepared: Prepared) {
    this.#dataDir = dataDir
    this.prepared = prepared
  }

  async take(): Promise<AgentLife> {
    const spare = this.#spare
    this.#spare = null
    if (spare !== null) return spare
    const { database, world, now } = this.prepared
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.#dataDir, `boxyard.db${end}`), { force: true })
    writeFileSync(join(this.#dataDir, 'boxyard.db'), database)
    return AgentLife.begin({ world: copyWorld(world), dataDir: this.#dataDir }, now)
  }

  giveBack(life: AgentLife): void {
    life.arm(null)
    this.#spare = life
  }

  async close(): Promise<void> {
    await this.#spare?.end()
  }
}

async function record(bench: Bench, scenario: Scenario): Promise<RecordedCall[]> {
  const life = await bench.take()
  const stop = life.record()
  const answer = await act(life, bench.prepared, scenario)
  const calls = stop()
  if ((answer?.status ?? 500) >= 300) throw new Error(`Without a fault the action fails: ${JSON.stringify(answer)}`)
  await provesAgreement(life, bench.prepared, { scenario, answer })
  return calls
}

async function act(
  life: AgentLife,
  { given }: Prepared,
  { act: begin, lastsMs = 0 }: Scenario,
): Promise<OperationAnswer | null> {
  const answer = await begin((method, target, body) => life.ask(method, target, body), given)
  await life.run(() => life.isDead, lastsMs)
  return answer
}

async function provesKill(bench: Bench, scenario: Scenario, fault: CallFault): Promise<void> {
  const life = await bench.take()
  life.arm(fault)
  const answer = await act(life, bench.prepared, scenario)
  await life.end()
  if (!life.wasKilled) throw new Error('The call was never come to.')
  const next = await AgentLife.begin(life.host, life.now)
  await provesAgreement(next, bench.prepared, { scenario, answer, wasKilled: true })
}

async function provesFailure(bench: Bench, scenario: Scenario, fault: CallFault): Promise<void> {
  const life = await bench.take()
  const mark = life.mark()
  life.arm(fault)
  const answer = await act(life, bench.prepared, scenario)
  expect(JSON.stringify(answer?.body)).not.toContain('made to fail')
  await untilAgreed(life, SETTLE_MS, { leaves: true })
  const isRefused = answer !== null && answer.status >= 300
  if (isRefused && life.mark() === mark) return bench.giveBack(life)
  const { store, host } = life
  if ((await findDifferences(store, host.world)).length === 0)
    return provesAgreement(life, bench.prepared, { scenario, answer })
  await life.end()
  const next = await AgentLife.begin(host, life.now)
  return provesAgreement(next, bench.prepared, { scenario, answer })
}

/** Proves that the answer holds, and that no other resource changed. Then deletes everything, and proves that no state is left. */
async function provesAgreement(
  life: AgentLife,
  { bystander }: Prepared,
  { scenario, answer, wasKilled = false }: { scenario: Scenario; answer: OperationAnswer | null; wasKilled?: boolean },
): Promise<void> {
  life.arm(null)
  await untilAgreed(life, SETTLE_MS)
  const site = siteOf(life)
  const isDone = answer !== null && answer.status < 300
  await scenario.holds?.(site, { isDone, answer, wasKilled })
  expect(await bystanderOf(life)).toEqual(bystander)
  await untilAgreed(life, SETTLE_MS)
  await removeAll(site)
  await life.end()
}

/** Waits until records and host agree. @throws Error that lists the differences after `mostMs` */
async function untilAgreed(life: AgentLife, mostMs: number, options?: { leaves: boolean }): Promise<void> {
  let differences: string[] = []
  const isAgreed = async (): Promise<boolean> => {
    differences = await findDifferences(life.store, life.host.world, options)
    return differences.length === 0
  }
  if (!(await life.run(isAgreed, mostMs))) throw new Error(`Records and host differ:\n${differences.join('\n')}`)
}

async function bystanderOf(life: AgentLife): Promise<unknown> {
  const box = await life.store.boxes.get('faults', 'bystander')
  const volume = await life.store.volumes.get('faults', 'others')
  const { pool, boxes } = life.host.world
  return JSON.parse(
    JSON.stringify([
      box,
      volume,
      boxes.get(box?.id ?? ''),
      pool.get(box?.root ?? ''),
      pool.get(volume?.subvolume ?? ''),
    ]),
  )
}

/** Deletes all resources except the bystander's, and proves that no state of them is left. */
async function removeAll(site: FaultSite): Promise<void> {
  const { life } = site
  for (const kind of ['boxes', 'data', 'bases']) {
    const { body } = await site.ask('GET', `${PROJECT}/${kind}`)
    const names: string[] = body[kind === 'data' ? 'volumes' : kind].map(({ name }: { name: string }) => name)
    for (const name of names.filter((each) => !BYSTANDERS.includes(each)))
      expect((await life.ask('DELETE', `${PROJECT}/${kind}/${name}`))?.status).toBe(204)
  }
  await untilAgreed(life, SETTLE_MS)
  const { pool, boxes, commands, outputs, routes } = life.host.world
  expect([pool, boxes, commands, outputs, routes].map(({ size }) => size)).toEqual([POOL_SIZE, 1, 0, 0, 1])
}

function siteOf(life: AgentLife): FaultSite {
  const treeOf = async (owner: string): Promise<string> => {
    const [kind, name = ''] = owner.split(' ')
    const { boxes, volumes } = life.store
    if (kind === 'box') return (await boxes.get('faults', name))?.root ?? ''
    return (await volumes.get('faults', name))?.subvolume ?? ''
  }
  return {
    life,
    ask: async (method, target, body) => {
      const answer = await life.ask(method, target, body)
      if (answer === null) throw new Error('The agent is dead.')
      return answer
    },
    pass: async (ms) => void (await life.run(() => false, ms)),
    write: async (owner, content) => writeContent(life.host.world, await treeOf(owner), content),
    read: async (owner) => life.host.world.pool.get(await treeOf(owner))?.content ?? '',
  }
}

const BYSTANDERS = ['bystander', 'others']
/** Subvolumes of the bystander, its volume and the base. */
const POOL_SIZE = 3
const REJECT = ['reject'] as const
const THROW = ['throw'] as const
const THROW_OR_REJECT = ['throw', 'reject'] as const
/** Longest time, on the agent's clock, for which records and host can differ after a fault. Retries can wait up to a minute. */
const SETTLE_MS = 300_000

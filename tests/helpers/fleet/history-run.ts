import { setTimeout as pause } from 'node:timers/promises'
import { createRandom } from '../sample.ts'
import type { FleetFault } from './faults.ts'
import type { CallRequest, HistoryCall, Kind } from './history.ts'
import type { HistoryClient } from './history-client.ts'

export interface HistoryRun {
  client: HistoryClient
  doors: number
  faults: readonly FleetFault[]
  seed: number
  /** Time in which clients work and faults happen. */
  durationMs: number
  /** Called with each fault as it begins. */
  note(text: string): void
}

/** Runs clients at all gateways while faults happen, one at a time. Resolves once all faults have ended and no call is in progress. */
export async function runHistory(run: HistoryRun): Promise<void> {
  const ending = new AbortController()
  const startedAt = performance.now()
  const clients = Array.from({ length: CLIENTS }, (_, index) => work(run, index, { ending: ending.signal, startedAt }))
  try {
    await haveFaults(run, () => performance.now() > startedAt + run.durationMs)
  } finally {
    ending.abort()
    await Promise.all(clients)
  }
}

/** Gets every used name at every gateway, and reads the contents of boxes. Call it once no state changes any more. */
export async function lookAtAll({ client, doors }: HistoryRun): Promise<void> {
  const names = new Set(client.calls.flatMap(({ request }) => (request.op === 'create' ? [placeOf(request)] : [])))
  for (const place of names) {
    const { kind, name } = parsePlace(place)
    for (let door = 0; door < doors; door++) await client.make(door, { op: 'get', kind, name }, { isFinal: true })
  }
  for (let door = 0; door < doors; door++) {
    for (const kind of ['box', 'volume'] as const) await client.make(door, { op: 'list', kind })
    await client.make(door, { op: 'count', kind: 'box' })
  }
  for (const { kind, name } of [...names].map(parsePlace)) {
    if (kind === 'box') await client.make(0, { op: 'read', kind, name, by: name })
  }
}

/** Runs faults one at a time, in an order that depends on the seed, until `isOver`. Resolves once the last fault has ended. */
export async function haveFaults(
  { faults, seed, note }: Pick<HistoryRun, 'faults' | 'seed' | 'note'>,
  isOver: () => boolean,
): Promise<void> {
  const random = createRandom(seed + CLIENTS)
  const order = faults.toSorted(() => random() - 0.5)
  for (let turn = 0; !isOver(); turn++) {
    await pause(600 + random() * 1_500)
    const fault = order[turn % order.length]
    if (fault === undefined || isOver()) continue
    note(fault.name)
    await fault.strike()
    try {
      await pause(500 + random() * 3_000)
    } finally {
      await fault.mend()
    }
  }
}

/** Runs one client. Draws a call, makes it, and repeats a create that got no answer. */
async function work(
  { client, doors, seed }: HistoryRun,
  index: number,
  { ending, startedAt }: { ending: AbortSignal; startedAt: number },
): Promise<void> {
  const random = createRandom(seed + index)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const door = (): number => Math.floor(random() * doors)
  for (let turn = 0; !ending.aborted; turn++) {
    // Clients change to new names every `NAMES_KEPT_MS`. After a delete without an answer, little is known about a name.
    const age = Math.floor((performance.now() - startedAt) / NAMES_KEPT_MS)
    const name = (kind: Kind): string => `${kind === 'box' ? 'b' : 'v'}${age}-${pick(NUMBERS)}`
    const request = draw(pick, { name, unique: `${seed}-${index}-${turn}` })
    const made = await client.make(door(), request)
    if (request.op === 'create') await settle(made, () => client.make(door(), request), { random, ending })
    await pause(random() * 40)
  }
}

/** Repeats a create at any gateway until its outcome is known, and sometimes once more. */
async function settle(
  first: HistoryCall,
  again: () => Promise<HistoryCall>,
  { random, ending }: { random: () => number; ending: AbortSignal },
): Promise<void> {
  let last = first
  for (let tries = 0; last.outcome.is === 'unknown' && tries < 10 && !ending.aborted; tries++) {
    await pause(100)
    last = await again()
  }
  if (random() < 0.2) await again()
}

type Choose = <T>(all: readonly T[]) => T

function draw(pick: Choose, { name, unique }: { name(kind: Kind): string; unique: string }): CallRequest {
  const kind = pick(KINDS)
  const op = pick(OPERATIONS)
  switch (op) {
    case 'create':
      return { op, kind, name: name(kind), key: `k-${unique}` }
    case 'list':
      return { op, kind }
    case 'count':
      return { op, kind: 'box' }
    case 'attach':
    case 'detach':
      return { op, volume: name('volume'), box: name('box') }
    case 'write':
    case 'read': {
      const by = name('box')
      const place = kind === 'box' ? { kind, name: by, by } : { kind, name: name('volume'), by }
      return op === 'write' ? { op, ...place, value: `w-${unique}` } : { op, ...place }
    }
    case 'get':
    case 'delete':
      return { op, kind, name: name(kind) }
  }
}

function placeOf({ kind, name }: { kind: Kind; name: string }): string {
  return `${kind} ${name}`
}

function parsePlace(place: string): { kind: Kind; name: string } {
  const [kind = '', name = ''] = place.split(' ')
  return { kind: kind === 'box' ? 'box' : 'volume', name }
}

const CLIENTS = 6
const NUMBERS = [1, 2, 3, 4]
const NAMES_KEPT_MS = 20_000
/** Volumes are more frequent because they cost less. */
const KINDS: readonly Kind[] = ['box', 'volume', 'volume']
/** Weighted by repetition. */
const OPERATIONS = [
  ...(['create', 'create', 'create', 'create', 'get', 'get', 'get', 'list', 'count', 'delete', 'delete'] as const),
  ...(['attach', 'attach', 'detach', 'write', 'write', 'read', 'read'] as const),
]

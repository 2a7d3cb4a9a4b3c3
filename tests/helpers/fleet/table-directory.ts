import { setImmediate as soon } from 'node:timers/promises'
import { nameTakenError } from '../../../agent/drivers/fleet/fleet-objects.ts'
import type {
  Cell,
  Directory,
  Home,
  HomeCard,
  HomeClaim,
  HomeName,
  KeptHome,
} from '../../../agent/ports/fleet/directory.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createListeners, type Listeners } from '../../../shared/listeners.ts'

/** The homes of a fleet, in memory: what a test sees of them, and how they fail. */
export interface HomeTable {
  /** By kind, project and name: `box demo/web`. */
  homes: Map<string, Home & { uid: string; card: HomeCard | null }>
  cells: Map<string, Cell>
  /**
   * `away`: nothing can be read or written; `answers lost`: what is written is, but nobody hears of it; a promise: nothing is answered
   * before it resolves.
   */
  fault: 'away' | 'answers lost' | Promise<void> | null
  /** Tells every directory that the test has changed homes, or cells. */
  changes: Listeners<HomeName | null>
}

export function createHomeTable(): HomeTable {
  return { homes: new Map(), cells: new Map(), fault: null, changes: createListeners() }
}

/** Names a home as a table does. */
export function homeKey({ kind, project, name }: HomeName): string {
  return `${kind} ${project}/${name}`
}

/** Describes a cell that is reached at `channelUrl`. */
export function tableCell(cell: string, channelUrl: string): Cell {
  const reached = { node: `node-${cell}`, channelUrl, dataUrl: channelUrl, edgeAddress: null }
  return {
    cell,
    ...reached,
    region: null,
    free: null,
    warm: 0,
    heartbeatAt: Date.now(),
    isReady: true,
    isDraining: false,
  }
}

/** Creates the directory of a cell over a table that it shares with others; held to the suite of all directories. */
export function createTableDirectory(table: HomeTable, cell: string): Directory {
  const present = (key: string): Home | null => {
    const found = table.homes.get(key)
    if (found === undefined) return null
    return homeOf(found)
  }
  const change = async <T>(work: () => T): Promise<T> => {
    await soon()
    if (table.fault instanceof Promise) await table.fault
    if (table.fault === 'away') throw away()
    const done = work()
    if (table.fault === 'answers lost') throw away()
    return done
  }
  return {
    cell,
    find: (name) => present(homeKey(name)),
    read: (name) => change(() => present(homeKey(name))),
    findCell: (found) => table.cells.get(found) ?? null,
    cells: () => [...table.cells.values()].filter((each) => each.cell !== cell),
    homeCells: () => [...new Set([...table.homes.values()].map((home) => home.cell))],
    readKept: (name) => change(() => keptIn(table, homeKey(name))),
    homesOf: async function* (query) {
      const kept = await change(() => [...table.homes.keys()].map((key) => keptIn(table, key) as KeptHome))
      for (const home of kept)
        if (home.cell === query.cell && home.kind === query.kind && home.project === (query.project ?? home.project))
          yield [home]
    },
    onChange: (listener) => table.changes.add(listener),
    claim: (claim) => change(() => claimIn(table, claim, cell)),
    release: (name, uid) =>
      change(() => {
        const found = table.homes.get(homeKey(name))
        if (found?.uid === uid && found.cell === cell) table.homes.delete(homeKey(name))
      }),
  }
}

function claimIn(table: HomeTable, claim: HomeClaim, cell: string): Home {
  const key = homeKey(claim)
  const { uid, createdBy, card } = claim
  const found = table.homes.get(key) ?? { uid, cell, epoch: 1, phase: 'Live' as const, createdBy, card }
  if (found.uid !== uid) throw nameTakenError(claim, cell, found)
  table.homes.set(key, found)
  return homeOf(found)
}

function keptIn(table: HomeTable, key: string): KeptHome | null {
  const found = table.homes.get(key)
  const [, kind, project = '', name = ''] = /^(box|volume) (.+)\/(.+)$/.exec(key) ?? []
  if (found === undefined) return null
  return {
    kind: kind === 'volume' ? 'volume' : 'box',
    project,
    name,
    uid: found.uid,
    cell: found.cell,
    card: found.card,
  }
}

function homeOf({ cell, epoch, phase, createdBy }: Home): Home {
  return { cell, epoch, phase, createdBy }
}

function away(): ServiceError {
  return new ServiceError('runtime_unavailable', 'The directory is away.')
}

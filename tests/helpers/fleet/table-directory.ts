import { setImmediate as soon } from 'node:timers/promises'
import { baseTakenError } from '../../../agent/drivers/fleet/base-objects.ts'
import { nameTakenError } from '../../../agent/drivers/fleet/fleet-objects.ts'
import type { BaseName, FleetBase, FleetBases } from '../../../agent/ports/fleet/bases.ts'
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

/** The ownership records of a fleet, in memory. A test can inspect and change them, and make them fail. */
export interface HomeTable {
  /** By kind, project and name, such as `box demo/web`. */
  homes: Map<string, Home & { uid: string; card: HomeCard | null }>
  cells: Map<string, Cell>
  /** By project and name, such as `demo/tools`. A base for all projects is `-/tools`. */
  bases: Map<string, FleetBase>
  /** The last version of each name, including deleted bases. */
  baseVersions: Map<string, number>
  /** Opens a base's content at the cell that made it. */
  sendBase: FleetBases['open']
  /**
   * Injects a fault.
   * - `away`: all reads and writes fail.
   * - `answers lost`: writes take effect, but every caller gets an error.
   * - a promise: answers wait until it resolves.
   */
  fault: 'away' | 'answers lost' | Promise<void> | null
  /** Notifies every directory when the test has changed ownership records or cells. */
  changes: Listeners<HomeName | null>
}

export function createHomeTable(): HomeTable {
  const maps = { homes: new Map(), cells: new Map(), bases: new Map(), baseVersions: new Map() }
  return { ...maps, sendBase: async () => null, fault: null, changes: createListeners() }
}

/** Returns the key of an ownership record in the table. */
export function homeKey({ kind, project, name }: HomeName): string {
  return `${kind} ${project}/${name}`
}

/** Returns the key of a base in the table. */
export function baseKey({ project, name }: BaseName): string {
  return `${project ?? '-'}/${name}`
}

/** Describes a cell whose URL is `channelUrl`. */
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

/** Creates a cell's directory over a table that it shares with other cells. It must pass the suite for all directories. */
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
    bases: {
      find: (name) => table.bases.get(baseKey(name)) ?? null,
      read: (name) => change(() => table.bases.get(baseKey(name)) ?? null),
      claim: (claim) =>
        change(() => {
          const key = baseKey(claim)
          const version = Math.max(claim.version, (table.baseVersions.get(key) ?? 0) + 1)
          const found = table.bases.get(key) ?? { ...claim, version, cell }
          if (found.uid !== claim.uid) throw baseTakenError(claim, cell, found)
          table.bases.set(key, found)
          table.baseVersions.set(key, found.version)
          return { version: found.version }
        }),
      release: (name, uid) =>
        change(() => {
          const found = table.bases.get(baseKey(name))
          if (found?.uid === uid && found.cell === cell) table.bases.delete(baseKey(name))
        }),
      open: (base, signal) => table.sendBase(base, signal),
    },
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

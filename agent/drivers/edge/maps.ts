import { writeFileSync } from 'node:fs'
import type { CellEdge, EdgeGrant, EdgeRoute } from '../../ports/edge/edge.ts'
import { commandHaproxy, readMap } from './admin.ts'
import { encodeCell } from './config-cells.ts'
import { checkHost, encodeGrant, encodeRoute } from './names.ts'

/** A change of a map, as new values by key, or null to delete. */
export type MapChange = ReadonlyMap<string, string | null>

/** The desired content of one of HAProxy's maps. */
export interface EdgeMap {
  /** Replaces all entries. */
  reset(entries: Iterable<[key: string, value: string]>): void
  /** Applies a change, and returns the commands that apply it in HAProxy. */
  change(change: MapChange): string[]
  keys(): Iterable<string>
  valueOf(key: string): string | undefined
  /** Writes the file that a starting process reads. */
  write(): void
  /** Updates a running process to exactly these entries. */
  sync(socketPath: string): Promise<void>
}

/** Creates an empty map. `path` is the file that HAProxy loads at start, and the map's name in commands. */
export function createEdgeMap(path: string): EdgeMap {
  const entries = new Map<string, string>()
  return {
    reset: (given) => {
      entries.clear()
      for (const [key, value] of given) entries.set(key, value)
    },
    change: (change) => {
      const commands = commandsFor(path, entries, change)
      for (const [key, value] of change) {
        if (value === null) entries.delete(key)
        else entries.set(key, value)
      }
      return commands
    },
    keys: () => entries.keys(),
    valueOf: (key) => entries.get(key),
    write: () => {
      const text = [...entries].map(([key, value]) => `${key} ${value}\n`).join('')
      writeFileSync(path, text, { mode: 0o600 })
    },
    sync: async (socketPath) => {
      const served = await readMap(socketPath, path)
      const change = new Map<string, string | null>(entries)
      for (const key of served.keys()) if (!entries.has(key)) change.set(key, null)
      await commandHaproxy(socketPath, commandsFor(path, served, change))
    },
  }
}

/** Builds a change of the route map. */
export function routeChange(set: readonly EdgeRoute[], remove: readonly string[]): MapChange {
  const change = new Map<string, string | null>()
  for (const host of remove) {
    checkHost(host)
    change.set(host, null)
  }
  for (const route of set) change.set(route.host, encodeRoute(route))
  return change
}

/** Builds a change of the map of hosts that other cells have. */
export function leadChange(set: ReadonlyMap<string, CellEdge>, remove: readonly string[]): MapChange {
  const change = new Map<string, string | null>(remove.map((host) => [host, null]))
  for (const [host, to] of set) change.set(host, encodeCell(to))
  for (const host of change.keys()) checkHost(host)
  return change
}

/** Builds a change of the grant map. */
export function grantChange(grants: readonly EdgeGrant[]): MapChange {
  return new Map(grants.map(encodeGrant))
}

// Sets existing keys in place, because delete and add would leave a gap.
function commandsFor(path: string, before: ReadonlyMap<string, string>, change: MapChange): string[] {
  return [...change].flatMap(([key, value]) => {
    if (before.get(key) === (value ?? undefined)) return []
    if (value === null) return [`del map ${path} ${key}`]
    return [`${before.has(key) ? 'set' : 'add'} map ${path} ${key} ${value}`]
  })
}

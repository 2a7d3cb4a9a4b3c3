import { writeFileSync } from 'node:fs'
import type { EdgeGrant, EdgeRoute } from '../../ports/edge/edge.ts'
import { commandHaproxy, readMap } from './admin.ts'
import { checkHost, encodeGrant, encodeRoute } from './names.ts'

/** What a change makes of one map: values by key, null where the key goes. */
export type MapChange = ReadonlyMap<string, string | null>

/** One map of the edge, as it is to be served. */
export interface EdgeMap {
  /** Starts over with exactly these. */
  reset(entries: Iterable<[key: string, value: string]>): void
  /** Takes note of a change; returns the commands that make it. */
  change(change: MapChange): string[]
  keys(): Iterable<string>
  valueOf(key: string): string | undefined
  /** For a process that is to start. */
  write(): void
  /** Brings a process to it, whatever it served. */
  sync(socketPath: string): Promise<void>
}

/** An empty map, kept in the file that a HAProxy reads at its start, and by whose path it knows it. */
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

/** The change of the route map. */
export function routeChange(set: readonly EdgeRoute[], remove: readonly string[]): MapChange {
  const change = new Map<string, string | null>()
  for (const host of remove) {
    checkHost(host)
    change.set(host, null)
  }
  for (const route of set) change.set(route.host, encodeRoute(route))
  return change
}

/** The change of the grant map. */
export function grantChange(grants: readonly EdgeGrant[]): MapChange {
  return new Map(grants.map(encodeGrant))
}

// What is first removed and then added is not there for a moment: a key that stays is set.
function commandsFor(path: string, before: ReadonlyMap<string, string>, change: MapChange): string[] {
  return [...change].flatMap(([key, value]) => {
    if (before.get(key) === (value ?? undefined)) return []
    if (value === null) return [`del map ${path} ${key}`]
    return [`${before.has(key) ? 'set' : 'add'} map ${path} ${key} ${value}`]
  })
}

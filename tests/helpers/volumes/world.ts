import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { instanceOf } from '../boxes/world.ts'
import type { TestService } from '../service.ts'

/**
 * Returns the subvolumes of volumes, snapshots and backups in a service's records, sorted. `sealed` has only the subvolumes of automatic
 * snapshots.
 */
export function recordedSubvolumes(service: TestService): { all: string[]; sealed: string[] } {
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'), { readOnly: true })
  const read = (table: string, where = 'TRUE'): string[] =>
    database
      .prepare(`SELECT record ->> '$.subvolume' AS name FROM ${table} WHERE ${where}`)
      .all()
      .map(({ name }) => String(name))
  const sealed = read('snapshots', "record ->> '$.automatic' = 1")
  const copies = read('backups', "record ->> '$.subvolume' IS NOT NULL")
  const all = [...read('volumes'), ...read('snapshots'), ...copies].sort()
  database.close()
  return { all, sealed }
}

/** Returns the subvolumes in a service's pool, sorted. Reads the pool through the agent's mount namespace. */
export function pooledSubvolumes(service: TestService): string[] {
  return readdirSync(poolOf(service))
    .filter((name) => /^(vol|snp|tmp)_/.test(name))
    .sort()
}

/** Returns true if a subvolume of the pool is writable. */
export function isWritable(service: TestService, subvolume: string): boolean {
  try {
    writeFileSync(join(poolOf(service), subvolume, 'written-by-a-test'), '')
    return true
  } catch {
    return false
  }
}

function poolOf(service: TestService): string {
  return `/proc/${service.agentPid}/root/run/boxyard/${instanceOf(service)}/pool`
}

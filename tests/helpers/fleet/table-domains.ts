import { setImmediate as soon } from 'node:timers/promises'
import type { DomainOwner, Domains } from '../../../agent/ports/fleet/domains.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'

/** The domains of a fleet, in memory. The cells of a test share them. */
export interface DomainTable extends Domains {
  owners: Map<string, DomainOwner>
  /** Claims and releases, in order. */
  calls: string[]
  /** True: all reads and writes fail. */
  isAway: boolean
}

export function createDomainTable(): DomainTable {
  const changes = createListeners<string | null>()
  const owners: DomainTable['owners'] = new Map()
  const reach = async (): Promise<void> => {
    await soon()
    if (table.isAway) throw new ServiceError('runtime_unavailable', 'The fleet is away.')
  }
  const table: DomainTable = {
    owners,
    calls: [],
    isAway: false,
    find: (host) => owners.get(host) ?? null,
    read: async (host) => {
      await reach()
      return owners.get(host) ?? null
    },
    ofBox: async (uid) => {
      await reach()
      return new Map([...owners].filter(([, owner]) => owner.uid === uid))
    },
    claim: async (host, owner) => {
      await reach()
      table.calls.push(`claim ${host}`)
      const { uid, service } = owners.get(host) ?? owner
      if (uid !== owner.uid || service !== owner.service) throw new ServiceError('domain_taken', `${host} is taken.`)
      owners.set(host, owner)
      changes.notify(host)
    },
    release: async (host, uid) => {
      await reach()
      table.calls.push(`release ${host}`)
      if (owners.get(host)?.uid === uid) owners.delete(host)
      changes.notify(host)
    },
    onChange: changes.add,
  }
  return table
}

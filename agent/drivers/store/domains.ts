import type { Database } from './database.ts'

/** The owner of domains, a service of a box. '' is the box itself. */
interface DomainOwner {
  boxId: string
  service: string
}

type Published = 'stored' | 'changed' | { taken: string }

/** Runs `write` and replaces the domains of the owner, in one transaction. Returns a domain that another owner has. */
export function publishDomains(
  database: Database,
  { boxId, service }: DomainOwner,
  { domains, write }: { domains: readonly string[]; write(): boolean },
): Published {
  try {
    return database.transaction(() => {
      if (!write()) return 'changed'
      database.run('DELETE FROM domains WHERE box_id = ? AND service = ?', boxId, service)
      const sql = 'INSERT INTO domains (domain, box_id, service) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
      for (const domain of domains) if (database.run(sql, domain, boxId, service) === 0) throw new Taken(domain)
      return 'stored'
    })
  } catch (error) {
    if (error instanceof Taken) return { taken: error.domain }
    throw error
  }
}

/** Frees the domains of a service, inside the open transaction. */
export function freeDomains(database: Database, { boxId, service }: DomainOwner): void {
  database.run('DELETE FROM domains WHERE box_id = ? AND service = ?', boxId, service)
}

/** Frees the domains of a box and of its services, inside the open transaction. */
export function freeAllDomains(database: Database, boxId: string): void {
  database.run('DELETE FROM domains WHERE box_id = ?', boxId)
}

/** Thrown to roll a transaction back. */
class Taken extends Error {
  readonly domain: string

  constructor(domain: string) {
    super('another one has the domain')
    this.domain = domain
  }
}

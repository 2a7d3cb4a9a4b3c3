import type { Logger } from '../../../shared/log.ts'
import type { AuditListQuery } from '../../../shared/schemas/events.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { AuditRecord, AuditStore } from '../../ports/store/events.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'

/** The audit log: requests to this deployment and their outcomes. */
export interface AuditTrail {
  /** Stores a record within a second. A crash may lose the last second here; the process log has each line at once. */
  add(record: AuditRecord & { account: string }): void
  /** Lists records newest first, of the projects that the caller is an admin of. */
  list(caller: Caller, query: AuditListQuery): Promise<{ records: AuditRecord[]; next: string | null }>
  /** Resolves once all added records are stored. */
  flush(): Promise<void>
}

/** Creates a log in the store, written in batches once a second, so that no request waits for it. */
export function createAuditTrail(deps: { store: { audit: AuditStore }; clock: Clock; logger: Logger }): AuditTrail {
  const { store, clock, logger } = deps
  let waiting: (AuditRecord & { account: string })[] = []
  let anonymous = 0
  let isDue = false
  const flush = async (): Promise<void> => {
    const records = waiting
    waiting = []
    anonymous = 0
    if (records.length === 0) return
    await store.audit.add(records).catch((error: unknown) => {
      logger.error('audit records could not be kept', { records: records.length, error })
    })
  }
  return {
    add: (record) => {
      // Requests without a token must not evict records of those with one.
      if (record.actor === null && ++anonymous > ANONYMOUS_PER_FLUSH) return
      waiting.push(record)
      if (isDue) return
      isDue = true
      void clock.sleep(FLUSH_MS).then(() => {
        isDue = false
        return flush()
      })
    },
    list: async (caller, query) => {
      await flush()
      const [before = null] = decodeCursor(query.continuation_token, 1) ?? []
      const { project = null, actor = null, operation = null, status = null, max_results: limit } = query
      const filter = { projects: caller.projects, project, actor, operation, status }
      const records: AuditRecord[] = []
      let next = before === null ? null : Number(before)
      do {
        const page = await store.audit.read({ ...filter, before: next, limit: limit - records.length })
        records.push(...page.records)
        next = page.next
        await new Promise((resolve) => setImmediate(resolve))
      } while (next !== null && records.length < limit)
      return { records, next: next === null ? null : encodeCursor([String(next)]) }
    },
    flush,
  }
}

const FLUSH_MS = 1_000
// Anonymous records kept per second.
const ANONYMOUS_PER_FLUSH = 10

import type { Logger } from '../../../shared/log.ts'
import type { AuditListQuery as AuditListQuery } from '../../../shared/schemas/events.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { AuditRecord, AuditStore } from '../../ports/store/events.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'

/** What was asked of this deployment, and how it was answered. */
export interface AuditTrail {
  /** Kept within a second: a crash may lose the last second here, while the log has its line at once. */
  add(record: AuditRecord): void
  /** Newest first; those of the projects that the caller is an admin of. */
  list(caller: Caller, query: AuditListQuery): Promise<{ records: AuditRecord[]; next: string | null }>
  /** Resolves when all that was added is kept. */
  flush(): Promise<void>
}

/** A trail in the store, written once a second: no request waits for it. */
export function createAuditTrail(deps: { store: { audit: AuditStore }; clock: Clock; logger: Logger }): AuditTrail {
  const { store, clock, logger } = deps
  let waiting: AuditRecord[] = []
  let strangers = 0
  let isDue = false
  const flush = async (): Promise<void> => {
    const records = waiting
    waiting = []
    strangers = 0
    if (records.length === 0) return
    await store.audit.add(records).catch((error: unknown) => {
      logger.error('audit records could not be kept', { records: records.length, error })
    })
  }
  return {
    add: (record) => {
      // Whoever has no token must not push out what was done by those who have.
      if (record.actor === null && ++strangers > STRANGERS_KEPT) return
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
      const { project = null, actor = null, operation = null, status = null, max_results: most } = query
      const wish = { projects: caller.projects, project, actor, operation, status }
      const records: AuditRecord[] = []
      let next = before === null ? null : Number(before)
      do {
        const page = await store.audit.read({ ...wish, before: next, limit: most - records.length })
        records.push(...page.records)
        next = page.next
        await new Promise((resolve) => setImmediate(resolve))
      } while (next !== null && records.length < most)
      return { records, next: next === null ? null : encodeCursor([String(next)]) }
    },
    flush,
  }
}

const FLUSH_MS = 1_000
// Of each second.
const STRANGERS_KEPT = 10

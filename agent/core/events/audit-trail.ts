import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { AuditPage, AuditQuery, AuditRecord, AuditStore } from '../../ports/store/events.ts'

/** The audit log of this cell. It holds requests that the cell answered, and their outcomes. */
export interface AuditTrail {
  /** Stores a record within a second. A crash may lose the last second here. The process log has each line at once. */
  add(record: AuditRecord & { account: string }): void
  /** Reads records newest first, those added last included, until `limit` match or there are no more. */
  readOwn(query: AuditQuery): Promise<AuditPage>
  /** Resolves once all added records are stored. */
  flush(): Promise<void>
}

interface AuditTrailDeps {
  store: { audit: AuditStore }
  clock: Clock
  logger: Logger
  /** False leaves out the commands that requests run. */
  keepsCommands?: boolean
}

/** Creates a log in the store, written in batches once a second, so that no request waits for it. */
export function createAuditTrail(deps: AuditTrailDeps): AuditTrail {
  const { store, clock, logger, keepsCommands = true } = deps
  let waiting: (AuditRecord & { account: string })[] = []
  let anonymous = 0
  let isDue = false
  const flush = async (): Promise<void> => {
    const records = waiting
    waiting = []
    anonymous = 0
    if (records.length === 0) return
    await store.audit.add(records).catch((error: unknown) => {
      logger.error('failed to store audit records', { records: records.length, error })
    })
  }
  return {
    add: (record) => {
      // Requests without a token must not evict records of those with one.
      if (record.actor === null && ++anonymous > ANONYMOUS_PER_FLUSH) return
      waiting.push(keepsCommands ? record : { ...record, command: null, isCommandCut: false })
      if (isDue) return
      isDue = true
      void clock.sleep(FLUSH_MS).then(() => {
        isDue = false
        return flush()
      })
    },
    readOwn: async (query) => {
      await flush()
      const records: AuditPage['records'] = []
      let next = query.before
      do {
        const page = await store.audit.read({ ...query, before: next, limit: query.limit - records.length })
        records.push(...page.records)
        next = page.next
        await new Promise((resolve) => setImmediate(resolve))
      } while (next !== null && records.length < query.limit)
      return { records, next }
    },
    flush,
  }
}

const FLUSH_MS = 1_000
// Anonymous records kept per second.
const ANONYMOUS_PER_FLUSH = 10

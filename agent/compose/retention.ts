import type { Logger } from '../../shared/log.ts'
import { repeat } from '../../shared/repeat.ts'
import type { AgentLimits } from '../config/agent.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Store } from '../ports/store/store.ts'
import type { Closers } from './shutdown.ts'

interface RetentionDeps {
  store: Store
  clock: Clock
  closers: Closers
  logger: Logger
  limits: AgentLimits
}

/**
 * Prunes expired records now and every hour, and every minute histories that are above their bounds, until `closers` run. For a minute, a
 * caller may write more than is kept.
 */
export async function scheduleRetention(deps: RetentionDeps): Promise<void> {
  const { closers, logger } = deps
  await pruneExpired(deps, { unfinished: true })
  const onError = (error: unknown): void => logger.error('failed to delete expired records', { error })
  const stops = [
    repeat(() => pruneExpired(deps, { unfinished: false }), { everyMs: HOUR_MS, onError }),
    repeat(() => boundHistories(deps), { everyMs: MINUTE_MS, onError }),
  ]
  closers.add('retention', () => {
    for (const stop of stops) stop()
  })
}

async function pruneExpired({ store, clock, limits }: RetentionDeps, options: { unfinished: boolean }): Promise<void> {
  const now = clock.now()
  await store.idempotency.prune(now - limits.idempotencyKeepMs, options)
  await store.operations.prune(now - limits.operationKeepMs)
  await store.tokens.prune(now - limits.tokenKeepMs)
  await store.edgeGrants.prune(now)
  await boundHistories({ store, clock, limits })
}

async function boundHistories({
  store,
  clock,
  limits,
}: Pick<RetentionDeps, 'store' | 'clock' | 'limits'>): Promise<void> {
  const now = clock.now()
  await store.idempotency.bound(HISTORY_LIMITS.idempotencyBytes)
  await store.operations.bound(HISTORY_LIMITS.operations)
  await store.tokens.bound(HISTORY_LIMITS.endedTokens, now)
  await store.events.prune(now - limits.eventKeepMs, limits.eventsKept)
  await store.audit.prune(now - limits.auditKeepMs, limits.auditKept)
}

/** Bounds of histories without a setting. Beyond one, the accounts that have most of it lose their oldest entries. */
export const HISTORY_LIMITS = {
  idempotencyBytes: 256 * 1024 ** 2,
  operations: 100_000,
  endedTokens: 100_000,
}
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

import type { Logger } from '../../shared/log.ts'
import type { AgentLimits } from '../config/agent.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Store } from '../ports/store/store.ts'
import type { Closers } from './closers.ts'

interface UpkeepDeps {
  store: Store
  clock: Clock
  closers: Closers
  logger: Logger
  limits: AgentLimits
}

/** Forgets histories past their bounds: now, and every hour until the end. */
export async function scheduleRetention(deps: UpkeepDeps): Promise<void> {
  const { closers, logger } = deps
  await forgetOld(deps, { unfinished: true })
  const timer = setInterval(() => {
    forgetOld(deps, { unfinished: false }).catch((error: unknown) => logger.error('upkeep failed', { error }))
  }, HOUR_MS)
  timer.unref()
  closers.add('retention', () => clearInterval(timer))
}

async function forgetOld({ store, clock, limits }: UpkeepDeps, options: { unfinished: boolean }): Promise<void> {
  const now = clock.now()
  await store.idempotency.prune(now - limits.idempotencyKeepMs, options)
  await store.operations.prune(now - limits.operationKeepMs)
  await store.tokens.prune(now - limits.tokenKeepMs)
  await store.edgeGrants.prune(now)
  await store.events.prune(now - limits.eventKeepMs, limits.eventsKept)
  await store.audit.prune(now - limits.auditKeepMs, limits.auditKept)
}

const HOUR_MS = 3_600_000

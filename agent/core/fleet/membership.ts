import type { Logger } from '../../../shared/log.ts'
import type { HealthFault } from '../../../shared/schemas/health.ts'
import { timestamp } from '../../../shared/time.ts'
import type { CellAddresses, CellStatus, Registration } from '../../ports/fleet/registration.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface MembershipDeps {
  registration: Registration
  addresses: CellAddresses
  measure(): Promise<CellStatus>
  /** Claims the names of this cell that the fleet has lost; returns those that another has by now. */
  publish(): Promise<HealthFault[]>
  clock: Clock
  logger: Logger
}

/** This cell as a member of its fleet. */
export interface Membership {
  /** Resolves once the fleet knows of this cell, or after some seconds in which it could not be told. */
  started: Promise<void>
  /** Tells the fleet of this cell within a second. */
  tellSoon(): void
  /** What keeps this cell from telling the fleet, and names that two have. */
  problems(): HealthFault[]
  /** Tells the fleet that this cell takes no requests, and stops. */
  leave(): Promise<void>
}

/** Tells the fleet of this cell now and each minute, and again soon after a failure. */
export function startMembership(deps: MembershipDeps): Membership {
  const { registration, measure, clock, logger } = deps
  const ending = new AbortController()
  const started = Promise.withResolvers<void>()
  const state: State = { isJoined: false, isKnown: false, conflicts: [], failure: null }
  let wake = new AbortController()
  const run = async (): Promise<void> => {
    const begunAt = clock.now()
    while (!ending.signal.aborted) {
      const error = await tellFleet(deps, state)
      if (error !== null && state.failure === null) logger.warn('the fleet cannot be told of this cell', { error })
      if (error === null && state.failure !== null) logger.info('the fleet was told of this cell')
      state.failure = error === null ? null : { since: state.failure?.since ?? clock.now(), error }
      if (error === null || clock.now() - begunAt > START_MS) started.resolve()
      wake = new AbortController()
      await clock.sleep(RETRY_MS, ending.signal)
      if (error === null) await clock.sleep(REPORT_MS, AbortSignal.any([ending.signal, wake.signal]))
    }
    started.resolve()
  }
  const running = run()
  return {
    started: started.promise,
    tellSoon: () => wake.abort(),
    problems: () => [...failureOf(state), ...state.conflicts],
    leave: async () => {
      ending.abort()
      await running
      if (state.isKnown) await registration.report({ ...(await measure()), isReady: false }).catch(() => undefined)
    },
  }
}

interface State {
  isJoined: boolean
  /** Whether the fleet has the addresses. */
  isKnown: boolean
  conflicts: HealthFault[]
  failure: { since: number; error: unknown } | null
}

/** Brings the fleet up to date, and returns what kept it from that; null: nothing. */
async function tellFleet(deps: MembershipDeps, state: State): Promise<unknown> {
  const { registration, addresses, measure, publish } = deps
  try {
    if (!state.isJoined) await registration.join()
    state.isJoined = true
    if (!state.isKnown) await registration.announce(addresses)
    state.isKnown = await registration.report(await measure())
    state.conflicts = await publish()
    return state.isKnown ? null : new Error('its Agent object was deleted')
  } catch (error) {
    return error
  }
}

function failureOf({ failure }: State): HealthFault[] {
  if (failure === null) return []
  const cause = failure.error instanceof Error ? failure.error.message : String(failure.error)
  return [
    {
      code: 'fleet_untold',
      evidence: `Since ${timestamp(failure.since)} this cell cannot tell its fleet of itself: ${cause}`,
      remedy: 'Bring the API server back, or mend what it says; boxes that run go on, and this is tried again.',
    },
  ]
}

const REPORT_MS = 60_000
const RETRY_MS = 500
const START_MS = 5_000

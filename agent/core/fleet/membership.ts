import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HealthFault } from '../../../shared/schemas/health.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import type { CellAddresses, CellStatus, Registration } from '../../ports/fleet/registration.ts'
import type { Clock } from '../../ports/host/clock.ts'

export interface MembershipDeps {
  registration: Registration
  addresses: CellAddresses
  measure(): Promise<CellStatus>
  /** Claims the names of this cell that the fleet has lost. Returns those that another cell has now. */
  publish(): Promise<HealthFault[]>
  clock: Clock
  logger: Logger
}

/** This cell as a member of its fleet. */
export interface Membership {
  /** Resolves once the fleet knows this cell, or after some seconds without success. */
  started: Promise<void>
  /** Reports this cell to the fleet within a second. */
  tellSoon(): void
  /**
   * Checks that the fleet knows this data directory as the cell. Another directory with the same number has records of its own.
   * @throws ServiceError `runtime_unavailable`
   */
  checkKnown(): void
  /** Faults that keep this cell from reporting to the fleet, and names that two cells have. */
  problems(): HealthFault[]
  /** Reports to the fleet that this cell takes no requests, and stops. */
  leave(): Promise<void>
}

/** Reports this cell to the fleet now and each minute, and retries soon after a failure. */
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
      if (error !== null && state.failure === null) logger.warn('failed to register this cell in the fleet', { error })
      if (error === null && state.failure !== null) logger.info('registered this cell in the fleet')
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
    checkKnown: () => {
      if (!state.isKnown) throw unknownError(state)
    },
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
  /** True once the fleet has the addresses. */
  isKnown: boolean
  conflicts: HealthFault[]
  failure: { since: number; error: unknown } | null
}

/** Brings the fleet up to date. Returns the fault that prevents it, or null. */
async function tellFleet(deps: MembershipDeps, state: State): Promise<unknown> {
  const { registration, addresses, measure, publish } = deps
  try {
    if (!state.isJoined) await registration.join()
    state.isJoined = true
    if (!state.isKnown) await registration.announce(addresses)
    state.isKnown = await registration.report(await measure())
    // Names with this number belong to another data directory now, or to none.
    if (!state.isKnown) return new Error('its Agent object was deleted, or recreated by another data directory')
    state.conflicts = await publish()
    return null
  } catch (error) {
    return error
  }
}

/** Returns a directory in which nothing is claimed unless `check` passes. */
export function claimingAs(directory: Directory, check: () => void): Directory {
  const { bases } = directory
  return {
    ...directory,
    claim: async (claim) => {
      check()
      return directory.claim(claim)
    },
    bases: {
      ...bases,
      claim: async (claim) => {
        check()
        return bases.claim(claim)
      },
    },
  }
}

function unknownError({ failure }: Pick<State, 'failure'>): ServiceError {
  const why = failure === null ? 'the cell has not registered yet' : causeOf(failure)
  return new ServiceError('runtime_unavailable', `The fleet does not know this cell: ${why}`, { cause: failure?.error })
}

function causeOf({ error }: NonNullable<State['failure']>): string {
  return error instanceof Error ? error.message : String(error)
}

function failureOf({ failure, isKnown }: State): HealthFault[] {
  if (failure === null && isKnown) return []
  const evidence =
    failure === null
      ? 'This cell has not registered in its fleet yet. Until then, it claims no names.'
      : `Since ${timestamp(failure.since)} this cell cannot register in its fleet: ${causeOf(failure)}`
  const remedy =
    'Restore the API server, or fix the error it reports. Running boxes keep running, and the agent retries.'
  return [{ code: 'fleet_untold', evidence, remedy }]
}

const REPORT_MS = 60_000
const RETRY_MS = 500
const START_MS = 5_000

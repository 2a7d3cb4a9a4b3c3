import { ServiceError } from '../../../shared/errors.ts'
import type { EdgeRoute } from '../../ports/edge/edge.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import type { Boxes } from '../boxes/boxes.ts'
import { boxGone } from '../common/lookup.ts'
import type { EdgeRoutes, HostTarget } from './routes.ts'

export interface WakerDeps {
  boxes: Pick<Boxes, 'resume'>
  hosts: Pick<EdgeRoutes, 'lookup' | 'hold'>
  /** A box that is waited for is in use: it is not stopped before it was asked. */
  activity: Pick<BoxActivity, 'begin'>
  prober: Prober
  clock: Clock
}

/** Brings boxes to where they can be asked. */
export interface Waker {
  /**
   * The route of a host whose box has none yet: waits while the box starts, and starts it if it rests and its
   * `url_settings.wake` says so; until its port takes connections, or 25 s have passed. Many at once are one.
   * @throws ServiceError `box_not_running` for one that rests, `box_busy` while it is being restored, `box_not_found` if it is
   * deleted meanwhile, `service_not_found` for a service without a port, `runtime_unavailable`, `agent_timeout`
   */
  reach(host: string): Promise<EdgeRoute>
}

/** Nothing under way yet. */
export function createWaker(deps: WakerDeps): Waker {
  const underWay = new Map<string, Promise<EdgeRoute>>()
  return {
    reach: (host) => {
      const reaching = underWay.get(host) ?? reach(deps, host).finally(() => underWay.delete(host))
      underWay.set(host, reaching)
      return reaching
    },
  }
}

async function reach(deps: WakerDeps, host: string): Promise<EdgeRoute> {
  const { box } = await lookUp(deps, host)
  const endUse = deps.activity.begin(box.id)
  // What comes meanwhile is to wait as well, and not to find a port that nobody has taken yet.
  const release = box.observed.status === 'running' ? () => undefined : deps.hosts.hold(box.id)
  return untilReached(deps, host).finally(() => {
    release()
    endUse()
  })
}

async function untilReached(deps: WakerDeps, host: string): Promise<EdgeRoute> {
  const { clock, prober } = deps
  const endsAt = clock.now() + WAIT_MS
  let wasResumed = false
  for (;;) {
    const target = await lookUp(deps, host)
    const { route, box } = target
    if (route !== null && (await prober.look({ ...lookAt(route), timeoutMs: LOOK_MS })) === null) return route
    const leftMs = endsAt - clock.now()
    // The edge itself says best what is wrong with a port.
    if (leftMs <= 0 && route !== null) return route
    if (leftMs <= 0) throw lateFault(box)
    if (route === null && nextStep(target, clock.now()) === 'resume') {
      // Once a request: one that ends at once would be started without end.
      if (wasResumed) throw new ServiceError('runtime_unavailable', 'The box behind this address ended at once.', RETRY)
      await resume(deps, box, leftMs)
      wasResumed = true
    } else await clock.sleep(Math.min(leftMs > WAIT_MS - SOON_MS ? SOON_PAUSE_MS : PAUSE_MS, leftMs))
  }
}

async function lookUp({ hosts }: WakerDeps, host: string): Promise<HostTarget> {
  const target = await hosts.lookup(host)
  if (target === null) throw boxGone()
  return target
}

/** What is to be done for a box that has no route. @throws ServiceError where waiting does not help */
export function nextStep(
  { box, service, at }: Pick<HostTarget, 'box' | 'service' | 'at'>,
  now: number,
): 'wait' | 'resume' {
  const { desired, observed, urlSettings, restore } = box
  if (desired.power === 'stopped' && !urlSettings.wake) throw new ServiceError('box_not_running', RESTS)
  if (restore !== null) return 'wait'
  if (desired.power === 'stopped' && observed.reason === 'failed' && now - observed.since < FAILED_MS)
    throw new ServiceError('runtime_unavailable', 'The box behind this address could not be started.', RETRY)
  if (desired.power === 'stopped') return 'resume'
  if (observed.status === 'unknown') {
    const detail = 'The runtime does not answer for the box behind this address.'
    throw new ServiceError('runtime_unavailable', detail, RETRY)
  }
  if (observed.status === 'running' && at === null) {
    throw new ServiceError('service_not_found', `The service "${service ?? ''}" listens nowhere: it has no port.`)
  }
  return 'wait'
}

async function resume({ boxes }: WakerDeps, box: BoxRecord, leftMs: number): Promise<void> {
  const { project, name } = box
  try {
    const how = { waitMs: leftMs, ifMatch: null, idempotencyKey: null }
    await boxes.resume({ project, name }, how)
  } catch (error) {
    const isOurs = error instanceof ServiceError && (error.code === 'box_not_found' || error.code === 'storage_full')
    if (isOurs || box.urlSettings.auth === 'token') throw error
    // Figures of the project are nothing for whoever passes by.
    const detail = 'The box behind this address cannot be started now.'
    throw new ServiceError('runtime_unavailable', detail, { ...RETRY, cause: error })
  }
}

function lookAt({ address, port }: EdgeRoute) {
  return { address, port, kind: 'tcp' as const, path: '' }
}

function lateFault({ restore }: BoxRecord): ServiceError {
  if (restore !== null) return new ServiceError('box_busy', 'The box behind this address is being restored.', RETRY)
  return new ServiceError('agent_timeout', 'The box behind this address does not run yet; try again.', RETRY)
}

const WAIT_MS = 25_000
/** What begins soon is to be found soon. */
const SOON_MS = 1_000
const SOON_PAUSE_MS = 5
const PAUSE_MS = 100
const LOOK_MS = 1_000
/** After a start that failed, so that not every request begins another. */
const FAILED_MS = 5_000
const RETRY = { headers: { 'Retry-After': '5' } }
const RESTS =
  'The box behind this address is stopped. `POST …/resume` starts it; with `url_settings.wake` a request for this address does.'

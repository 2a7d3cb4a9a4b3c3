import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { EdgeRoute } from '../../ports/edge/edge.ts'
import type { Prober, ProbeTarget } from '../../ports/edge/prober.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import type { Boxes } from '../boxes/boxes.ts'
import { boxGone } from '../common/lookup.ts'
import type { EdgeRoutes, HostTarget } from './routes.ts'

export interface WakerDeps {
  boxes: Pick<Boxes, 'resume'>
  hosts: Pick<EdgeRoutes, 'lookup' | 'hold'>
  /** Counts a wait as use, so that the box is not stopped before its request. */
  activity: Pick<BoxActivity, 'begin'>
  prober: Prober
  runtime: Pick<Runtime, 'connect'>
  clock: Clock
}

/** Starts stopped boxes for requests to their URLs. */
export interface Waker {
  /**
   * Resolves to the route of a host once its port takes connections, after 25 s at most. Waits for a box that starts, and starts a
   * stopped one if its `url_settings.wake` is set. Concurrent calls for one host share one wait.
   * @throws ServiceError `box_not_running` for a stopped box without `wake`, `box_busy` while it is being restored, `box_not_found` if it is
   * deleted during the wait, `service_not_found` for a service without a port, `runtime_unavailable`, `agent_timeout`
   */
  reach(host: string): Promise<EdgeRoute>
}

/** Creates a waker. */
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
  // Later requests must wait as well, so that they do not reach a port without a listener.
  const release = box.observed.status === 'running' ? () => undefined : deps.hosts.hold(box.id)
  return untilReached(deps, host).finally(() => {
    release()
    endUse()
  })
}

async function untilReached(deps: WakerDeps, host: string): Promise<EdgeRoute> {
  const { clock, prober, runtime } = deps
  const endsAt = clock.now() + WAKE_TIMEOUT_MS
  let wasResumed = false
  for (;;) {
    const target = await lookUp(deps, host)
    const { route, box } = target
    if (route !== null && (await prober.probe(probeOf(runtime, target, route))) === null) return route
    const leftMs = endsAt - clock.now()
    // Forwards anyway: the edge reports best what is wrong with a port.
    if (leftMs <= 0 && route !== null) return route
    if (leftMs <= 0) throw timeoutFault(box)
    if (route === null && nextStep(target, clock.now()) === 'resume') {
      // Resumes once per request. A box that exits at once would be restarted forever.
      if (wasResumed)
        throw new ServiceError(
          'runtime_unavailable',
          'The box behind this address started, but stopped at once.',
          RETRY,
        )
      await resume(deps, box, leftMs)
      wasResumed = true
    } else await clock.sleep(Math.min(leftMs > WAKE_TIMEOUT_MS - FAST_PHASE_MS ? FAST_PAUSE_MS : PAUSE_MS, leftMs))
  }
}

async function lookUp({ hosts }: WakerDeps, host: string): Promise<HostTarget> {
  const target = await hosts.lookup(host)
  if (target === null) throw boxGone()
  return target
}

/** Decides the next step for a box without a route. @throws ServiceError if waiting does not help */
export function nextStep(
  { box, service, at }: Pick<HostTarget, 'box' | 'service' | 'at'>,
  now: number,
): 'wait' | 'resume' {
  const { desired, observed, urlSettings, restore } = box
  if (desired.power === 'stopped' && !urlSettings.wake)
    throw refusal('box_not_running', [
      STOPPED,
      '`POST …/resume` starts it. With `url_settings.wake` a request for this address does.',
    ])
  if (restore !== null) return 'wait'
  if (desired.power === 'stopped' && observed.reason === 'failed' && now - observed.since < FAILED_BACKOFF_MS)
    throw new ServiceError('runtime_unavailable', 'The box behind this address failed to start.', RETRY)
  if (desired.power === 'stopped') return 'resume'
  if (observed.status === 'unknown') {
    const detail = 'The container runtime does not answer for the box behind this address.'
    throw new ServiceError('runtime_unavailable', detail, RETRY)
  }
  if (observed.status === 'running' && at === null) {
    throw new ServiceError('service_not_found', `The service "${service ?? ''}" has no port. Set one to give it a URL.`)
  }
  return 'wait'
}

async function resume({ boxes }: WakerDeps, box: BoxRecord, leftMs: number): Promise<void> {
  const { project, name } = box
  try {
    const options = { waitMs: leftMs, ifMatch: null, idempotencyKey: null }
    await boxes.resume({ project, name }, options)
  } catch (error) {
    const isPublic = error instanceof ServiceError && (error.code === 'box_not_found' || error.code === 'storage_full')
    if (isPublic || box.urlSettings.auth === 'token') throw error
    // A public URL must not reveal quotas and usage of the project.
    const detail = 'The box behind this address cannot be started now.'
    throw new ServiceError('runtime_unavailable', detail, { ...RETRY, cause: error })
  }
}

function probeOf(runtime: WakerDeps['runtime'], { at }: HostTarget, { address, port }: EdgeRoute): ProbeTarget {
  const boxId = at?.boxId
  const plain = { address, port, kind: 'tcp' as const, path: '', timeoutMs: PROBE_TIMEOUT_MS }
  return boxId === undefined ? plain : { ...plain, atLoopback: () => runtime.connect(boxId, port) }
}

function timeoutFault({ restore }: BoxRecord): ServiceError {
  if (restore !== null)
    return refusal(
      'box_busy',
      ['The box behind this address is being restored.', 'Try again when that is done.'],
      RETRY,
    )
  return new ServiceError('agent_timeout', 'The box behind this address does not run yet. Retry later.', RETRY)
}

/** How long a request waits for the start of a box. */
export const WAKE_TIMEOUT_MS = 25_000
/** Polls fast at first, since most boxes start soon. */
const FAST_PHASE_MS = 1_000
const FAST_PAUSE_MS = 5
const PAUSE_MS = 100
const PROBE_TIMEOUT_MS = 1_000
/** Pause after a failed start, so that not every request starts the box again. */
const FAILED_BACKOFF_MS = 5_000
const RETRY = { headers: { 'Retry-After': '5' } }
const STOPPED = 'The box behind this address is stopped.'

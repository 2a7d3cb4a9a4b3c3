import { createBuckets } from '../../../shared/buckets.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { EdgeReach } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ServiceStore } from '../../ports/store/services.ts'
import { isRestarted } from '../services/plan.ts'
import { targetsOf } from '../services/traffic.ts'
import type { EdgeRoutes } from './routes.ts'

export interface LoopbackDeps {
  hosts: Pick<EdgeRoutes, 'boxAt'>
  runtime: Pick<Runtime, 'connect'>
  services: Pick<ServiceStore, 'of' | 'get'>
  /** Most requests at once, shared by boxes and projects. */
  atOnce: number
  clock: Pick<Clock, 'now'>
}

/** Lets the edge reach servers on the loopback of a box: at the ports that a host leads to, and nowhere else. */
export class Loopback {
  readonly #deps: LoopbackDeps
  readonly #shares
  /** Requests of each project, which take time of the agent's event loop also where nothing listens. */
  readonly #paces
  /** Looks for the service of a port, which reads its whole record. */
  readonly #causePaces

  constructor(deps: LoopbackDeps) {
    this.#deps = deps
    this.#shares = createFairShares(deps.atOnce)
    this.#paces = createBuckets({ perSecond: PER_SECOND, burst: BURST, clock: deps.clock })
    this.#causePaces = createBuckets({ perSecond: CAUSES_PER_SECOND, burst: CAUSES_PER_SECOND, clock: deps.clock })
  }

  /** @throws ServiceError as `EdgeGate.reach` */
  async reach(target: { address: string; port: number }): Promise<EdgeReach> {
    const { hosts, runtime } = this.#deps
    const owner = await hosts.boxAt(target)
    if (owner === null)
      throw new ServiceError('port_unreachable', `No URL of a box leads to port ${target.port} anymore.`)
    const isTooFast = this.#paces.waitOf(owner.project) !== null
    if (!isTooFast) this.#paces.take(owner.project)
    const release = isTooFast ? null : this.#shares.take([`project ${owner.project}`, `box ${owner.boxId}`])
    if (release === null)
      throw refusal(
        'rate_limited',
        [CROWDED, 'Let the server listen on 0.0.0.0, which has no such limit, or try again in 1 s.'],
        { headers: { 'Retry-After': '1' } },
      )
    const connect: EdgeReach['connect'] = () =>
      runtime.connect(owner.boxId, target.port).catch(async (error: unknown) => {
        const isSilent = error instanceof ServiceError && error.code === 'port_not_listening'
        const cause = isSilent ? await this.#causeOf(owner, target.port).catch(() => null) : null
        throw cause === null ? error : new ServiceError('port_unreachable', cause)
      })
    return { owner, release, connect }
  }

  /**
   * Returns why the service of a port does not listen, without its name. Null if it runs, no service has the port, or the project has too
   * many such requests.
   */
  async #causeOf({ project, boxId }: EdgeReach['owner'], port: number): Promise<string | null> {
    if (this.#causePaces.waitOf(project) !== null) return null
    this.#causePaces.take(project)
    const { services } = this.#deps
    const outline = (await services.of(boxId)).find((each) => targetsOf(each).active?.port === port)
    const record = outline === undefined ? null : await services.get(boxId, outline.name)
    if (record === null) return null
    const service = `The service on port ${port} of this box`
    if (record.desired === 'stopped') return `${service} is stopped.`
    const end = record.active?.runs.at(-1)?.end ?? null
    if (end === null) return null
    return `${service} has ended${isRestarted(record.spec, end) ? ', and restarts' : ''}.`
  }
}

const PER_SECOND = 500
const BURST = 1_000
const CAUSES_PER_SECOND = 20
const CROWDED = 'Too many requests go to servers on the loopback of boxes, or to ports where nothing answers.'

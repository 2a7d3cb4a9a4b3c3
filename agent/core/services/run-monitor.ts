import type { DetachedEnd, DetachedExec } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { InstanceRecord, Readiness } from '../../ports/store/services.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { commandEnvironment } from '../common/environment.ts'
import { forkOf } from '../common/service-instances.ts'
import { type Finding, type ProbeDeps, probe } from './probe.ts'

/** A run of a service that goes on, or whose end is not recorded yet. */
export interface RunMonitor {
  readonly execId: string
  readonly held: DetachedExec
  /** Null while it goes on. */
  readonly ended: { end: DetachedEnd | null } | null
  /** It was started, or taken up, beside the active version. */
  readonly isTrial: boolean
  /** Since when this process looks at it. */
  readonly followedAt: number
  /** Somebody has asked it to end. */
  isEnding: boolean
  readonly health: Finding['health'] | 'unknown'
  /** Whether it was ready at some time; without a probe it is from the start. */
  readonly isReady: boolean
  readonly why: string | null
}

export interface RunMonitorDeps extends ProbeDeps {
  clock: Clock
}

/** A version of a service of a box; with `isTrial` it is to show first that it listens, if it is to do so. */
export interface Followed {
  box: BoxRecord
  name: string
  instance: InstanceRecord
  isTrial: boolean
}

/** Follows a run and looks whether it is ready; `onChange` is called at each change, and at its end. */
export function monitorRun(
  deps: RunMonitorDeps,
  of: Followed & { held: DetachedExec },
  onChange: () => void,
): RunMonitor {
  const { box, name, instance, held } = of
  const readiness = instance.spec.readiness ?? (of.isTrial && instance.port !== null ? LISTENS : null)
  const looking = new AbortController()
  const live = {
    execId: held.execId,
    held,
    ended: null as RunMonitor['ended'],
    isTrial: of.isTrial,
    followedAt: deps.clock.now(),
    isEnding: false,
    health: (readiness === null ? 'unknown' : 'starting') as RunMonitor['health'],
    isReady: readiness === null,
    why: null as string | null,
  }
  void held.ended.then((end) => {
    looking.abort()
    live.ended = { end }
    onChange()
  })
  if (readiness === null) return live
  const onFinding = ({ health, why }: Finding): void => {
    Object.assign(live, { health, why, isReady: live.isReady || health === 'healthy' })
    onChange()
  }
  const host = forkOf(box, instance.fork)
  const probed = { boxId: host.id, port: instance.port, readiness, request: requestOf(host, name, instance) }
  void probe(deps, probed, { onFinding, signal: looking.signal })
  return live
}

/** What a version of a service, or its probe, is run with. */
export function requestOf(box: BoxRecord, name: string, { spec, port }: InstanceRecord) {
  const { cwd, user, env } = spec
  const own = { ...env, ...(port === null ? {} : { PORT: String(port) }), BOX_SERVICE: name }
  return { cwd, user, environment: commandEnvironment(box, own) }
}

const LISTENS: Readiness = { probe: { kind: 'tcp' }, intervalMs: 1000, timeoutMs: 2000, threshold: 3 }

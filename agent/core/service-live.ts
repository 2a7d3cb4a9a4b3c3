import type { Clock } from '../ports/clock.ts'
import type { HeldEnd, HeldExec } from '../ports/runtime.ts'
import type { ServiceRecord } from '../ports/service-store.ts'
import type { BoxRecord } from '../ports/store.ts'
import { commandEnvironment } from './environment.ts'
import { type Finding, type ProbeDeps, probe } from './service-probe.ts'

/** A run of a service that goes on, or whose end is not recorded yet. */
export interface LiveRun {
  readonly execId: string
  readonly held: HeldExec
  /** Null while it goes on. */
  readonly ended: { end: HeldEnd | null } | null
  /** Somebody has asked it to end. */
  isEnding: boolean
  readonly health: Finding['health'] | 'unknown'
  /** Whether it was ready at some time; without a probe it is from the start. */
  readonly isReady: boolean
  readonly why: string | null
}

export interface LiveRunDeps extends ProbeDeps {
  clock: Clock
}

/** Follows a run and looks whether it is ready; `onChange` is called at each change, and at its end. */
export function followRun(
  deps: LiveRunDeps,
  { box, record, held }: { box: BoxRecord; record: ServiceRecord; held: HeldExec },
  onChange: () => void,
): LiveRun {
  const spec = record.active?.spec ?? record.spec
  const { readiness } = spec
  const looking = new AbortController()
  const live = {
    execId: held.execId,
    held,
    ended: null as LiveRun['ended'],
    isEnding: false,
    health: (readiness === null ? 'unknown' : 'starting') as LiveRun['health'],
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
  const request = requestOf(box, record)
  const probed = { boxId: box.id, port: spec.port, readiness, request }
  void probe(deps, probed, { onFinding, signal: looking.signal })
  return live
}

/** What a service, or its probe, is run with. */
export function requestOf(box: BoxRecord, { active, spec: next, name }: ServiceRecord) {
  const { cwd, user, env, port } = active?.spec ?? next
  const own = { ...(port === null ? {} : { PORT: String(port) }), ...env, BOX_SERVICE: name }
  return { cwd, user, environment: commandEnvironment(box, own) }
}

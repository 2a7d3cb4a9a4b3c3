import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { createLineBudget, logBounded } from '../../../shared/log-budget.ts'
import type { DetachedEnd } from '../../ports/boxes/runtime.ts'
import type { ExecKey, ExecOutputs } from '../../ports/exec/outputs.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ActorContext } from '../../ports/store/events.ts'
import type {
  InstanceOutline,
  InstanceRecord,
  RunEnd,
  RunRecord,
  ServiceOutline,
  ServiceRecord,
  StartSlot,
} from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import { bumped } from '../common/edit-record.ts'
import { asFork, instancesOf, lastRun } from '../common/service-instances.ts'
import { discardDetached } from '../exec/live-exec.ts'
import type { Forks } from './forks.ts'
import { type ServiceKey, writtenBytes } from './observer.ts'
import { monitorRun, type RunMonitor, type RunMonitorDeps, requestOf } from './run-monitor.ts'
import { type Traffic, trySettle } from './traffic.ts'
import { droppedRuns, withEnd, withIdentity, withNewRun } from './versions.ts'

export interface RunStarterDeps extends RunMonitorDeps {
  store: Store
  outputs: ExecOutputs
  actorContext: Pick<ActorContext, 'current'>
  traffic: Traffic
  forks: Forks
  logger: Logger
}

/** A version of a service to be started in a running box. */
export interface Start {
  record: ServiceRecord
  box: BoxRecord
  slot: StartSlot
  isFresh: boolean
}

/** Starts runs of services, and records how they ended. */
export interface RunStarter {
  /** Returns null if the record has changed, or if the run could not be started, which is recorded as its end. */
  start(start: Start, onChange: () => void): Promise<RunMonitor | null>
  /** Writes the end of a run. A null `end` is unknown. Succeeds without effect if the run is not in the record. */
  writeEnd(key: ServiceKey, of: { instance: InstanceRecord; run: RunRecord; end: DetachedEnd | null }): Promise<void>
}

/** Serializes the starts in each box, so that no two runs choose the same port. */
export function createRunStarter(deps: RunStarterDeps): RunStarter {
  const { store, runtime, clock, outputs, logger } = deps
  const boxes = createKeyedLock()
  const lines = createLineBudget({ now: () => clock.now() })
  const writeEnd: RunStarter['writeEnd'] = async (key, { instance, run, end }) => {
    const logBytes = writtenBytes(outputs, key, instance)
    const known: Omit<DetachedEnd, 'timedOut'> = end ?? { ...UNKNOWN_END, endedAt: clock.now() }
    const { exitCode, signal, outOfMemory, oomKills, endedAt } = known
    const kills = oomKills === undefined ? {} : { oomKills }
    const runEnd: RunEnd = { exitCode, signal, outOfMemory, ...kills, endedAt, logBytes }
    await editService(deps, key, (record) => withEnd(record, run.execId, runEnd))
  }
  // Records the run before it is started: after a crash the next process finds it, and starts no second one beside it.
  const recordRun = ({ record, box, slot, isFresh }: Start): Promise<ServiceRecord | null> =>
    boxes.run(box.id, async () => {
      const others = (await store.services.of(box.id)).filter(({ name }) => name !== record.name)
      const port = choosePort(record, others, slot)
      const now = clock.now()
      const next = bumped(withNewRun(record, { slot, isFresh, port, boxSince: box.observed.since, now }), now)
      return (await store.services.replace(next)) ? next : null
    })
  return {
    writeEnd,
    start: async (start, onChange) => {
      const { record, box, slot } = start
      const next = await recordRun(start)
      const instance = next?.[slot] ?? null
      const run = lastRun(instance)
      if (next === null || instance === null || run === null) return null
      const { execId } = run
      const host = asFork(box, instance.fork)
      for (const each of droppedRuns(record, next))
        await outputs.remove({ boxId: host.id, execId: each.execId }).catch(() => undefined)
      const isMoved = !hasTargetOf(instance, record[slot])
      const { command } = instance.spec
      const task = { ...requestOf(host, record.name, instance), command, mergesOutput: true, endsWhole: true }
      try {
        await startFork(deps, box, { instance, key: record })
        if (isMoved || instance.fork !== null) await trySettle(deps, box.id)
        const { detached: exec } = await runtime.execDetached(host.id, execId, {
          ...task,
          stdin: NO_INPUT,
          timeoutMs: null,
        })
        return monitorRun(deps, { box, name: record.name, instance, exec, isCandidate: slot !== 'active' }, onChange)
      } catch (error) {
        logBounded(`project ${box.project}`, lines, (leftOut) =>
          logger.warn('failed to start a service', { box: box.id, service: record.name, error, ...leftOut }),
        )
        await discardStarted(deps, { boxId: host.id, execId })
        await writeEnd(record, { instance, run, end: null })
        return null
      }
    },
  }
}

/**
 * Starts the fork of a version, if it has one. Records its identity before the command starts. After a crash in between it gets another
 * one, which replaces an identity that nothing has read.
 */
async function startFork(
  { store, forks, clock }: RunStarterDeps,
  box: BoxRecord,
  { instance, key }: { instance: InstanceRecord; key: ServiceKey },
): Promise<void> {
  const { fork } = instance
  if (fork === null) return
  const { hasIdentity = hasRun(instance) } = fork
  await forks.start(box, fork, { isNew: !hasIdentity })
  if (!hasIdentity) await editService({ store, clock }, key, (record) => withIdentity(record, fork.boxId))
}

/** Edits the record of a service, unless it is gone, or `edit` returns it unchanged. Tries again if other changes come in between. */
async function editService(
  { store, clock }: Pick<RunStarterDeps, 'store' | 'clock'>,
  { boxId, name }: ServiceKey,
  edit: (record: ServiceRecord) => ServiceRecord,
): Promise<void> {
  for (;;) {
    const record = await store.services.get(boxId, name)
    const next = record === null ? null : edit(record)
    if (next === null || next === record || (await store.services.replace(bumped(next, clock.now())))) return
  }
}

/** Returns true if a run of a version ended in its fork. Records of earlier versions do not have `hasIdentity`. */
function hasRun({ runs }: InstanceRecord): boolean {
  return runs.some(({ end }) => end !== null && (end.exitCode !== null || end.signal !== null))
}

/** Tests whether requests for a version go where those for the version before went, and by the same protocol. */
function hasTargetOf({ port, spec }: InstanceRecord, before: InstanceRecord | null): boolean {
  return port === (before?.port ?? null) && spec.protocol === before?.spec.protocol
}

// A start that failed may have started the command all the same. The command would run beside the next one.
async function discardStarted(deps: RunStarterDeps, { boxId, execId }: ExecKey): Promise<void> {
  const started = await deps.runtime.listDetached().catch(() => [])
  const found = started.find((each) => each.execId === execId)
  if (found !== undefined) return discardDetached(found, deps)
  await deps.outputs.remove({ boxId, execId }).catch(() => undefined)
}

/**
 * Chooses the port for a start. Takes the port of the spec if it is free, else the lowest free one above 49151. Null for a service without
 * a port. `others` are the other services of the box. A pure function.
 */
export function choosePort(record: ServiceRecord, others: readonly ServiceOutline[], slot: StartSlot): number | null {
  const { port: requested } = slot === 'active' ? record.spec : (record[slot] ?? record).spec
  // Nothing else listens in a fork.
  if (requested === null || (slot !== 'active' && record[slot]?.fork)) return requested
  const own = portsOf(record, slot)
  // The active version of a service gets the port of its spec, even if another service was given it.
  if (slot === 'active' && !own.includes(requested)) return requested
  const taken = new Set([...own, ...others.flatMap((each) => portsOf(each, null))])
  const candidates = [requested, ...Array.from({ length: taken.size + 1 }, (_, index) => FIRST_PORT + index)]
  return candidates.find((port) => !taken.has(port)) ?? null
}

// Returns the ports that the versions of a service have or will have, except for the starting version.
function portsOf(record: ServiceOutline, starting: StartSlot | null): (number | null)[] {
  const { active, previous, spec } = record
  const excluded = starting === null ? null : record[starting]
  const inBox = instancesOf(record).filter((each) => each !== excluded && each.fork === null)
  const holding = inBox.filter((each) => !(each === previous && isOver(each)))
  const ports = holding.map(({ port }) => port)
  return starting !== 'active' && active === null ? [...ports, spec.port] : ports
}

function isOver(instance: InstanceOutline): boolean {
  return lastRun(instance)?.end !== null
}

const FIRST_PORT = 49_152
const UNKNOWN_END = { exitCode: null, signal: null, outOfMemory: false }
const NO_INPUT = new Uint8Array(0)

import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { DetachedEnd, DetachedExec, ExecRequest, Runtime } from '../../ports/boxes/runtime.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { ExecOutputs } from '../../ports/exec/outputs.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { InstanceRecord, Readiness, ServiceSpec } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import { boxAccounts } from '../common/accounts.ts'
import { withTimer } from '../common/deadline.ts'
import { commandEnvironment } from '../common/environment.ts'
import { asFork } from '../common/service-instances.ts'
import type { ProbeTurns } from './probe-turns.ts'

/** A run of a service in progress, or without a recorded end. */
export interface RunMonitor {
  readonly execId: string
  readonly exec: DetachedExec
  /** Null while it runs. `end` is null if it is unknown how it ended. */
  readonly ended: { end: DetachedEnd | null } | null
  /** True if it was started, or found at the start of this process, as the run of a preview or next version. */
  readonly isCandidate: boolean
  /** Since when this process monitors it, ms since the epoch. */
  readonly monitoredSince: number
  /** Set while the run is being terminated. */
  isEnding: boolean
  readonly health: 'unknown' | Health
  /** True once the run was healthy, and stays true. Without a probe, true from the start. */
  readonly isReady: boolean
  /** The reason that the last probe failed. Null if it succeeded, or before the first. */
  readonly why: string | null
}

export interface RunMonitorDeps {
  store: Pick<Store, 'boxes'>
  runtime: Runtime
  outputs: Pick<ExecOutputs, 'drop'>
  network: HostNetwork
  prober: Prober
  probeTurns: ProbeTurns
  clock: Clock
}

/** A run of a version. A candidate with a port but no probe has to accept a connection to be ready. */
export interface MonitoredRun {
  box: BoxRecord
  name: string
  instance: InstanceRecord
  isCandidate: boolean
  exec: DetachedExec
}

/** Monitors a run until it ends, and probes its readiness. Calls `onChange` when its health changes, and at its end. */
export function monitorRun(deps: RunMonitorDeps, run: MonitoredRun, onChange: () => void): RunMonitor {
  const { box, name, instance, exec, isCandidate } = run
  const readiness = instance.spec.readiness ?? (isCandidate && instance.port !== null ? LISTENS : null)
  const probing = new AbortController()
  const monitor = {
    execId: exec.execId,
    exec,
    ended: null as RunMonitor['ended'],
    isCandidate,
    monitoredSince: deps.clock.now(),
    isEnding: false,
    health: (readiness === null ? 'unknown' : 'starting') as RunMonitor['health'],
    isReady: readiness === null,
    why: null as string | null,
  }
  void exec.ended.then((end) => {
    probing.abort()
    monitor.ended = { end }
    onChange()
  })
  if (readiness === null) return monitor
  const onResult = ({ health, why }: ProbeResult): void => {
    const isChange = health !== monitor.health
    Object.assign(monitor, { health, why, isReady: monitor.isReady || health === 'healthy' })
    // A new reason is only shown to the next reader. A service that fails in ever new ways wakes no waiter.
    if (isChange) onChange()
  }
  // The others need none, and keep no definition.
  const isByCommand = readiness.probe.kind === 'command'
  const request = isByCommand ? requestReader(deps, box.id, [name, instance]) : async () => null
  const host = asFork(box, instance.fork)
  const { port, spec } = instance
  const target = { boxId: host.id, project: host.project, port, protocol: spec.protocol, readiness, request }
  void probe(deps, target, { onResult, signal: probing.signal })
  return monitor
}

/** Builds the request, except for the command, for a version of a service and its probe. */
export function requestOf(box: BoxRecord, name: string, { spec, port }: InstanceRecord): Omit<ExecRequest, 'command'> {
  const { cwd, user, env } = spec
  const own = { ...env, ...(port === null ? {} : { PORT: String(port) }), BOX_SERVICE: name }
  const dumpsCore = box.config.core_dumps
  return { cwd, user, environment: commandEnvironment(box, own), dumpsCore, accounts: boxAccounts(box, null) }
}

// Reads the box at each probe. Its environment may be long and all its services have it, so it is not kept while they run.
function requestReader(
  { store }: RunMonitorDeps,
  boxId: string,
  [name, instance]: [name: string, instance: InstanceRecord],
): ProbeTarget['request'] {
  return async () => {
    const box = await store.boxes.byId(boxId)
    return box === null ? null : requestOf(asFork(box, instance.fork), name, instance)
  }
}

type Health = 'starting' | 'healthy' | 'unhealthy'

interface ProbeTarget {
  boxId: string
  project: string
  port: number | null
  protocol: ServiceSpec['protocol'] | undefined
  readiness: Readiness
  /** Makes the request of a probe, without its command. Null if the box is gone. */
  request(): Promise<Omit<ExecRequest, 'command'> | null>
}

interface ProbeResult {
  health: Health
  why: string | null
}

// Probes a run until `signal` aborts, by turns of its project. At first it probes every few ms, so that it soon notices a quick start.
// Later it probes at the interval. Calls `onResult` at each change. Never rejects.
async function probe(
  deps: RunMonitorDeps,
  target: ProbeTarget,
  { onResult, signal }: { onResult(result: ProbeResult): void; signal: AbortSignal },
): Promise<void> {
  const { intervalMs, threshold, probe: kind } = target.readiness
  const cost = kind.kind === 'command' ? COMMAND_COST : 1
  let last: ProbeResult = { health: 'starting', why: null }
  let failures = 0
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, intervalMs)) {
    await deps.probeTurns.enter(target.project, cost, signal)
    if (signal.aborted) return
    const why = await probeOnce(deps, target)
    if (signal.aborted) return
    failures = why === null ? 0 : failures + 1
    const result = { health: healthAfter(last.health, failures, threshold), why }
    if (result.health !== last.health || result.why !== last.why) onResult(result)
    last = result
    if (last.health !== 'starting') pauseMs = intervalMs
    await deps.clock.sleep(pauseMs, signal)
  }
}

function healthAfter(health: Health, failures: number, threshold: number): Health {
  if (failures === 0) return 'healthy'
  if (health === 'healthy' && failures >= threshold) return 'unhealthy'
  return health
}

// Returns why the probe failed, or null.
async function probeOnce(deps: RunMonitorDeps, target: ProbeTarget): Promise<string | null> {
  const { boxId, port, protocol, readiness } = target
  const { probe: kind, timeoutMs } = readiness
  if (kind.kind === 'command') return probeByCommand(deps, target, kind.command)
  const address = await deps.network.addressOf(boxId).catch(() => null)
  if (address === null || port === null) return 'The box has no address.'
  const path = kind.kind === 'http' ? kind.path : ''
  const atLoopback = (): ReturnType<Runtime['connect']> => deps.runtime.connect(boxId, port)
  return deps.prober.probe({ address, port, kind: kind.kind, path, protocol, timeoutMs, atLoopback })
}

async function probeByCommand(
  { runtime, outputs, clock }: RunMonitorDeps,
  { boxId, project, request, readiness }: ProbeTarget,
  command: readonly string[],
): Promise<string | null> {
  try {
    const made = await request()
    if (made === null) return 'The box is gone.'
    const running = await runtime.exec(boxId, { ...made, command, mergesOutput: true, endsWhole: true })
    outputs.drop({ boxId, project }, running)
    running.stdin.on('error', () => undefined).end()
    const exit = await withTimer({ clock, ms: readiness.timeoutMs }, (over) =>
      Promise.race([running.exited, over.then(() => null)]),
    )
    if (exit === null) {
      await running.signal('SIGKILL')
      return `The readiness command did not end within ${readiness.timeoutMs / 1000} s.`
    }
    return exit.exitCode === 0 ? null : `The readiness command ended with ${exit.exitCode ?? exit.signal}.`
  } catch {
    return 'The readiness command could not be run.'
  }
}

const LISTENS: Readiness = { probe: { kind: 'tcp' }, intervalMs: 1000, timeoutMs: 2000, threshold: 3 }
const FIRST_PAUSE_MS = 10
/** For how many looks a command in the box counts. */
const COMMAND_COST = 5

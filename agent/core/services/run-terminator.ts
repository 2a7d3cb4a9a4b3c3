import type { Clock } from '../../ports/host/clock.ts'
import type { InstanceRecord, ServiceRecord } from '../../ports/store/services.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { Traffic } from './traffic.ts'

/** A run to terminate. With `drains`, after its open requests or its grace have ended. */
export interface RunTermination {
  boxId: string
  instance: InstanceRecord
  run: RunMonitor
  drains: boolean
  /** Called if the run cannot be ended. */
  onError(error: unknown): void
}

/** Terminates runs: drains their requests, sends their stop signal, then SIGKILL after their grace. */
export interface RunTerminator {
  /** Starts a termination, unless one of the run is under way. */
  terminate(termination: RunTermination): void
  /** Cuts short the waits of a termination under way, and kills the run at once. */
  killNow(run: RunMonitor): void
  /** Cuts off the requests that are still open to the previous version. The caller excludes a rollback during it. */
  cutOff(boxId: string, previous: PreviousVersion, run: RunMonitor): Promise<void>
  /** True once `cutOff` is done since the version ceased to be active. */
  isCutOff(previous: PreviousVersion | null, run: RunMonitor | null): boolean
  /** Stops waiting. Leaves runs that have not ended to the next process. */
  close(): Promise<void>
}

type PreviousVersion = NonNullable<ServiceRecord['previous']>

/** Terminates any number of runs at once, each at most once at a time. */
export function createRunTerminator({ traffic, clock }: { traffic: Traffic; clock: Clock }): RunTerminator {
  const underWay = new Map<RunMonitor, { kill: AbortController; done: Promise<void> }>()
  const cutOffs = new WeakMap<RunMonitor, number>()
  let isClosed = false
  const drain = async (boxId: string, { port, spec }: InstanceRecord): Promise<void> => {
    await traffic.settle(boxId)
    if (port !== null) await traffic.drain({ boxId, port }, spec.graceSeconds * 1000)
  }
  const end = async ({ boxId, instance, run, drains }: RunTermination, kill: AbortSignal): Promise<void> => {
    const { stopSignal, graceSeconds } = instance.spec
    if (drains) await Promise.race([drain(boxId, instance), aborted(kill)])
    if (isClosed || run.ended !== null) return
    await run.exec.signal(stopSignal)
    await Promise.race([run.exec.ended, clock.sleep(graceSeconds * 1000, kill)])
    if (isClosed || run.ended !== null) return
    await run.exec.signal('SIGKILL')
    await Promise.race([run.exec.ended, clock.sleep(KILL_MS)])
    if (run.ended === null) throw new Error('A killed service has not ended.')
  }
  return {
    terminate: (termination) => {
      const { run } = termination
      if (isClosed || underWay.has(run)) return
      run.isEnding = true
      const kill = new AbortController()
      const done = end(termination, kill.signal)
        .catch((error: unknown) => {
          run.isEnding = false
          termination.onError(error)
        })
        .finally(() => underWay.delete(run))
      underWay.set(run, { kill, done })
    },
    killNow: (run) => underWay.get(run)?.kill.abort(),
    cutOff: async (boxId, { port, since }, run) => {
      if (port !== null) await Promise.race([traffic.drain({ boxId, port }, 0), clock.sleep(CUT_OFF_MS)])
      cutOffs.set(run, since)
    },
    isCutOff: (previous, run) => previous !== null && run !== null && cutOffs.get(run) === previous.since,
    close: async () => {
      isClosed = true
      for (const { kill } of underWay.values()) kill.abort()
      await Promise.all([...underWay.values()].map(({ done }) => done))
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** A SIGKILL without effect for this long is an error. */
const KILL_MS = 10_000
/** The longest that a cut-off waits for the edge. */
const CUT_OFF_MS = 5_000

import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { ExecRequest, Runtime } from '../../ports/boxes/runtime.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Readiness } from '../../ports/store/services.ts'
import { withTimer } from '../common/deadline.ts'

export interface ProbeDeps {
  runtime: Runtime
  network: HostNetwork
  prober: Prober
  clock: Clock
}

/** A run that is looked at. */
export interface Probed {
  boxId: string
  port: number | null
  readiness: Readiness
  /** What a command of the probe is run with. */
  request: Omit<ExecRequest, 'command'>
}

/** What is thought of a run after a look. `why`: the last bad look's reason, null after a good one. */
export interface Finding {
  health: 'starting' | 'healthy' | 'unhealthy'
  why: string | null
}

/**
 * Looks at a run again and again until `signal` aborts: at first often, so that what is ready soon is known to be, then at the
 * interval it wishes for. Tells of each change; never rejects.
 */
export async function probe(
  deps: ProbeDeps,
  probed: Probed,
  { onFinding, signal }: { onFinding(finding: Finding): void; signal: AbortSignal },
): Promise<void> {
  const { intervalMs, threshold } = probed.readiness
  let finding: Finding = { health: 'starting', why: null }
  let bad = 0
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, intervalMs)) {
    const why = await look(deps, probed)
    if (signal.aborted) return
    bad = why === null ? 0 : bad + 1
    const next = { health: healthAfter(finding.health, bad, threshold), why }
    if (next.health !== finding.health || next.why !== finding.why) onFinding(next)
    finding = next
    if (finding.health !== 'starting') pauseMs = intervalMs
    await deps.clock.sleep(pauseMs, signal)
  }
}

function healthAfter(health: Finding['health'], bad: number, threshold: number): Finding['health'] {
  if (bad === 0) return 'healthy'
  if (health === 'healthy' && bad >= threshold) return 'unhealthy'
  return health
}

async function look(deps: ProbeDeps, probed: Probed): Promise<string | null> {
  const { boxId, port, readiness } = probed
  const { probe: kind, timeoutMs } = readiness
  if (kind.kind === 'command') return runProbe(deps, probed, kind.command)
  const address = await deps.network.addressOf(boxId).catch(() => null)
  if (address === null || port === null) return 'The box has no address.'
  const path = kind.kind === 'http' ? kind.path : ''
  return deps.prober.look({ address, port, kind: kind.kind, path, timeoutMs })
}

async function runProbe(
  { runtime, clock }: ProbeDeps,
  probed: Probed,
  command: readonly string[],
): Promise<string | null> {
  const { boxId, request, readiness } = probed
  try {
    const running = await runtime.exec(boxId, { ...request, command, mergesOutput: true, endsWhole: true })
    for (const stream of [running.stdout, running.stderr]) stream.resume()
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

const FIRST_PAUSE_MS = 10

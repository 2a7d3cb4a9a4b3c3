import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DecoratedPorts } from '../../agent/compose/deployment.ts'
import { eventually } from './eventually.ts'
import { draw } from './sample.ts'
import type { TestService } from './service.ts'

/** A call of a port, such as `store.boxes.replace`, checked by the compiler against the ports. */
export type FaultCall = { [Port in keyof DecoratedPorts]: CallsOf<DecoratedPorts[Port], Port> }[keyof DecoratedPorts]

// Distributes over unions of ports.
type CallsOf<T, Path extends string> = T extends unknown
  ? { [K in keyof T & string]: CallOrCalls<NonNullable<T[K]>, `${Path}.${K}`> }[keyof T & string]
  : never
type CallOrCalls<T, Path extends string> = T extends (...args: never[]) => unknown
  ? Path
  : T extends object
    ? CallsOf<T, Path>
    : never

/** A fault at a call of the agent, in the format of tests/fixtures/faulty-agent.ts; made by `at`. */
export type FaultStep = string & { readonly [OF_A_CALL]: true }
declare const OF_A_CALL: unique symbol
type Moment = 'before' | 'after' | 'throw' | 'reject' | 'cut' | `during-${number}`

/** Returns a fault at the `nth` call; with a `+`, at each from that one on. */
export function at(call: FaultCall, moment: Moment, nth: number | `${number}+` = 1): FaultStep {
  return `${call}:${moment}:${nth}` as FaultStep
}

/** Returns faults just before and just after the `nth` of each of the calls. */
export function around(calls: readonly FaultCall[], nth = 1): FaultStep[] {
  return calls.flatMap((call) => [at(call, 'before', nth), at(call, 'after', nth)])
}

/** Returns faults at these delays, in milliseconds, into a call. */
export function during(call: FaultCall, delaysMs: readonly number[]): FaultStep[] {
  return delaysMs.map((ms) => at(call, `during-${ms}`))
}

/** Draws `count` steps, each with its action; all of them if TEST_DRAW is `all`. */
export function drawSteps<Action extends string>(
  steps: Record<Action, readonly FaultStep[]>,
  count: number,
): readonly (readonly [Action, FaultStep])[] {
  const all = Object.entries<readonly FaultStep[]>(steps)
  return draw(
    all.flatMap(([action, each]) => each.map((step) => [action as Action, step] as const)),
    count,
  )
}

/** Stops the agent and starts one without a fault. */
export async function restartAgent(service: TestService, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  await service.killAgent(signal)
  await service.startAgent()
}

/** Arms a fault in the running agent in place of any other, or disarms it if `step` is empty; resolves once that is done. */
export async function armStep(service: TestService, step: FaultStep | ''): Promise<void> {
  const file = join(service.dataDir, 'fault')
  writeFileSync(file, step)
  process.kill(service.agentPid, 'SIGUSR2')
  await eventually(() => !existsSync(file), 5)
}

/** Returns true if a process ends within `patienceMs`; effects after an answer may take a while. */
export async function hasDied(pid: number, patienceMs = 60_000): Promise<boolean> {
  for (const endsAt = performance.now() + patienceMs; performance.now() < endsAt; ) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await sleep(50)
  }
  return false
}

/** As `hasDied`; throws if the process goes on. */
export async function untilDead(pid: number): Promise<void> {
  if (!(await hasDied(pid))) throw new Error('the step was never come to')
}

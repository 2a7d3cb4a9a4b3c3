import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from './eventually.ts'
import { draw } from './sample.ts'
import type { TestService } from './service.ts'
import type { PortCall } from './tapped-calls.ts'

/** A fault at a call of the agent, in the format of tests/fixtures/faulty-agent.ts. Create it with `at`. */
export type FaultStep = string & { readonly [OF_A_CALL]: true }
declare const OF_A_CALL: unique symbol
type Moment = 'before' | 'after' | 'throw' | 'reject' | 'cut' | `during-${number}`

/** Returns a fault at the `nth` call. With a `+`, it repeats at every later call. */
export function at(call: PortCall, moment: Moment, nth: number | `${number}+` = 1): FaultStep {
  return `${call}:${moment}:${nth}` as FaultStep
}

/** Draws `count` steps, each with its action. Returns all of them if TEST_DRAW is `all`. */
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

/** Arms a fault in the running agent and replaces any other. An empty `step` disarms it. Resolves once this is done. */
export async function armStep(service: TestService, step: FaultStep | ''): Promise<void> {
  const file = join(service.dataDir, 'fault')
  writeFileSync(file, step)
  process.kill(service.agentPid, 'SIGUSR2')
  await eventually(() => !existsSync(file), 5)
}

/** Returns true if a process ends within `patienceMs`. An effect can follow an answer with a delay. Each poll is one cheap system call. */
export async function hasDied(pid: number, patienceMs = 60_000): Promise<boolean> {
  for (const endsAt = performance.now() + patienceMs; performance.now() < endsAt; ) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await sleep(10)
  }
  return false
}

/** Waits like `hasDied`, but throws if the process keeps running. */
export async function untilDead(pid: number): Promise<void> {
  if (!(await hasDied(pid))) throw new Error('the step was never come to')
}

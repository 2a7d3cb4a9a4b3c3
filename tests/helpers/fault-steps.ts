import { setTimeout as sleep } from 'node:timers/promises'
import type { TestService } from './service.ts'

/** Ends the agent, and starts one that dies, or lets a call fail, at `step` (tests/fixtures/faulty-agent.ts); none if empty. */
export async function restartAgent(service: TestService, signal: 'SIGTERM' | 'SIGKILL', step: string): Promise<void> {
  await service.killAgent(signal)
  await service.startAgent({ TEST_FAULT: step })
}

/** Begins the counting towards the step; resolves once the agent has heard of it. */
export async function armStep(service: TestService): Promise<void> {
  process.kill(service.agentPid, 'SIGUSR2')
  // It may find a request before a signal that came first, but not two.
  for (let ask = 0; ask < 2; ask++) await service.request('/v1/me')
}

/** Whether a process ends soon: what follows an answer may take its time. */
export async function hasDied(pid: number): Promise<boolean> {
  for (let attempt = 0; attempt < 200; attempt++) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await sleep(50)
  }
  return false
}

/** As `hasDied`; throws if it goes on. */
export async function untilDead(pid: number): Promise<void> {
  if (!(await hasDied(pid))) throw new Error('the step was never come to')
}

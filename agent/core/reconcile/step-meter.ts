import type { Clock } from '../../ports/host/clock.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { BoxStep } from './plan.ts'

/** Times the steps of boxes: `run` is `work`, whose result is whether it came about. */
export interface StepMeter {
  run(kind: BoxStep['kind'] | 'destroy', work: () => Promise<boolean>): Promise<void>
}

/** A meter of steps, none so far. */
export function createStepMeter(meter: Meter, clock: Clock): StepMeter {
  const time = meter.histogram(STEPS)
  return {
    run: async (kind, work) => {
      const startedAt = clock.now()
      let isDone = false
      try {
        isDone = await work()
      } finally {
        time({ kind, outcome: isDone ? 'done' : 'failed' }, Math.max(0, clock.now() - startedAt) / 1000)
      }
    },
  }
}

const STEPS = {
  name: 'boxyard_reconcile_step_duration_seconds',
  help: 'Time that a step of a box took, by what it does and whether that came about.',
  labels: ['kind', 'outcome'],
  bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
} as const

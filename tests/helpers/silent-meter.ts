import type { Meter } from '../../agent/ports/host/meter.ts'

/** A meter that records nothing. */
export const silentMeter: Meter = {
  counter: () => () => {},
  histogram: () => () => {},
  observable: () => {},
}

import type { Meter } from '../../agent/ports/host/meter.ts'

/** A meter for tests that do not look at figures. */
export const silentMeter: Meter = {
  counter: () => () => {},
  histogram: () => () => {},
  observable: () => {},
}

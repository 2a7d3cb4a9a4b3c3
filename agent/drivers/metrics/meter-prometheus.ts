import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Meter, Metric, Sample } from '../../ports/host/meter.ts'

/** A meter whose figures a Prometheus server reads. */
export interface PrometheusMeter extends Meter {
  /** All figures in the text format, version 0.0.4. Never rejects; those who ask at once get the same. */
  render(): Promise<string>
}

/** The content type of what `render` gives. */
export const PROMETHEUS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** A meter without figures, over a registry of its own. What it holds is bounded by the values of the figures' labels. */
export function createPrometheusMeter(deps: { clock: Clock; logger: Logger }): PrometheusMeter {
  const registry = new Registry()
  let rendering: Promise<string> | null = null
  return {
    counter: (figure) => {
      const counter = new Counter(configOf(figure, registry))
      return (labels) => counter.inc(labels)
    },
    histogram: (figure) => {
      const histogram = new Histogram({ ...configOf(figure, registry), buckets: [...figure.bounds] })
      return (labels, seconds) => histogram.observe(labels, seconds)
    },
    observable: (kind, figure, read) => {
      const config = configOf(figure, registry)
      const fill = { name: figure.name, read: async () => read() }
      if (kind === 'gauge')
        new Gauge({
          ...config,
          async collect() {
            await refill(this, { ...fill, set: ({ labels, value }) => this.set(labels, value) }, deps)
          },
        })
      else
        new Counter({
          ...config,
          async collect() {
            await refill(this, { ...fill, set: ({ labels, value }) => this.inc(labels, value) }, deps)
          },
        })
    },
    render: () => {
      rendering ??= registry.metrics().finally(() => {
        rendering = null
      })
      return rendering
    },
  }
}

function configOf<L extends string>({ name, help, labels }: Metric<L>, registry: Registry) {
  return { name, help, labelNames: labels, registers: [registry] }
}

/** Reads the series of `metric` anew; it has none if that fails, or takes so long that Prometheus would give up on all. */
async function refill<L extends string>(
  metric: Gauge<L> | Counter<L>,
  { name, read, set }: { name: string; read(): Promise<readonly Sample<L>[]>; set(reading: Sample<L>): void },
  { clock, logger }: { clock: Clock; logger: Logger },
): Promise<void> {
  const timer = new AbortController()
  const late = clock.sleep(READ_MS, timer.signal).then(() => {
    throw new Error(`It took longer than ${READ_MS} ms.`)
  })
  late.catch(() => undefined)
  try {
    const readings = await Promise.race([read(), late])
    clear(metric)
    for (const reading of readings) set(reading)
  } catch (error) {
    clear(metric)
    logger.warn('a figure could not be read', { figure: name, error })
  } finally {
    timer.abort()
  }
}

function clear<L extends string>(metric: Gauge<L> | Counter<L>): void {
  metric.reset()
  // A metric without labels is reset to 0, which nobody has read.
  metric.remove({})
}

// Well below the ten seconds after which Prometheus gives up by default.
const READ_MS = 4_000

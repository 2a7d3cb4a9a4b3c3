import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Meter, Metric, Sample } from '../../ports/host/meter.ts'

/** A meter whose metrics a Prometheus server scrapes. */
export interface PrometheusMeter extends Meter {
  /** Renders all metrics in the text format, version 0.0.4. Never rejects. Concurrent calls share one result. */
  render(): Promise<string>
}

/** Content type of the output of `render`. */
export const PROMETHEUS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** Creates an empty meter with its own registry. The number of label values limits its memory. */
export function createPrometheusMeter(deps: { clock: Clock; logger: Logger }): PrometheusMeter {
  const registry = new Registry()
  let rendering: Promise<string> | null = null
  return {
    counter: (metric) => {
      const counter = new Counter(configOf(metric, registry))
      return (labels) => counter.inc(labels)
    },
    histogram: (metric) => {
      const histogram = new Histogram({ ...configOf(metric, registry), buckets: [...metric.bounds] })
      return (labels, seconds) => histogram.observe(labels, seconds)
    },
    observable: (kind, metric, read) => {
      const config = configOf(metric, registry)
      const fill = { name: metric.name, reader: createReader(async () => read(), deps.clock) }
      if (kind === 'gauge')
        new Gauge({
          ...config,
          async collect() {
            await refill(this, { ...fill, set: ({ labels, value }) => this.set(labels, value) }, deps.logger)
          },
        })
      else
        new Counter({
          ...config,
          async collect() {
            await refill(this, { ...fill, set: ({ labels, value }) => this.inc(labels, value) }, deps.logger)
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

/** Reads a metric, one reading at a time. */
interface FigureReader<T> {
  /** @throws Error of the reading, or after READ_MS. A reading that is still running then serves the next call */
  read(): Promise<T>
}

/**
 * Shares one reading among the calls during it, which may outlast each of them. A host that is too busy for a reading would be busier still
 * if every scrape began another. Abandons a reading after UNENDED_MS.
 */
function createReader<T>(read: () => Promise<T>, clock: Clock): FigureReader<T> {
  let current: { reading: Promise<T>; begunAt: number } | null = null
  return {
    read: async () => {
      if (current === null || clock.now() - current.begunAt > UNENDED_MS)
        current = { reading: read(), begunAt: clock.now() }
      const mine = current
      const timer = new AbortController()
      const late = clock.sleep(READ_MS, timer.signal).then((): never => {
        throw new Error(`It took longer than ${READ_MS} ms.`)
      })
      late.catch(() => undefined)
      try {
        const readings = await Promise.race([mine.reading, late])
        if (current === mine) current = null
        return readings
      } catch (error) {
        mine.reading.catch(() => {
          if (current === mine) current = null
        })
        throw error
      } finally {
        timer.abort()
      }
    },
  }
}

/** Replaces the series of `metric`. Leaves none if reading fails, or takes so long that the whole scrape would time out. */
async function refill<L extends string>(
  metric: Gauge<L> | Counter<L>,
  { name, reader, set }: { name: string; reader: FigureReader<readonly Sample<L>[]>; set(reading: Sample<L>): void },
  logger: Logger,
): Promise<void> {
  try {
    const readings = await reader.read()
    clear(metric)
    for (const reading of readings) set(reading)
  } catch (error) {
    clear(metric)
    logger.warn('failed to read a metric', { figure: name, error })
  }
}

function clear<L extends string>(metric: Gauge<L> | Counter<L>): void {
  metric.reset()
  // `reset` sets a metric without labels to 0, which is no reading.
  metric.remove({})
}

// Well below Prometheus' default scrape timeout of 10 s.
const READ_MS = 4_000
const UNENDED_MS = 60_000

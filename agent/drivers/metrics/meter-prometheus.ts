import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Labels, Meter, Metric, Sample } from '../../ports/host/meter.ts'

/** A meter whose figures a Prometheus server reads. */
export interface PrometheusMeter extends Meter {
  /** All figures in the text format, version 0.0.4. Never rejects; those who ask at once get the same. */
  render(): Promise<string>
}

/** The content type of what `render` gives. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A meter without figures. What it holds is bounded by the values of the figures' labels. */
export function createPrometheusMeter(deps: { clock: Clock; logger: Logger }): PrometheusMeter {
  const families = new Map<string, Family>()
  const add = (kind: Family['kind'], { name, help }: Metric<string>, lines: Family['lines']): void => {
    families.set(name, { kind, help, lines })
  }
  let rendering: Promise<string> | null = null
  return {
    counter: (figure) => {
      const series = createSeries(figure, () => ({ count: 0 }))
      if (figure.labels.length === 0) series.of({})
      add('counter', figure, async () =>
        series.all().map(([labels, { count }]) => `${figure.name}${braced(labels)} ${count}`),
      )
      return (labels) => {
        series.of(labels).count += 1
      }
    },
    histogram: (figure) => {
      const { name, bounds } = figure
      const series = createSeries(figure, (): Histogram => ({ classes: bounds.map(() => 0), count: 0, sum: 0 }))
      add('histogram', figure, async () =>
        series.all().flatMap(([labels, each]) => histogramLines({ name, labels, bounds }, each)),
      )
      return (labels, seconds) => observe(series.of(labels), bounds, seconds)
    },
    observable: (kind, figure, read) => {
      add(kind, figure, async () => (await read()).map((each) => readingLine(figure, each)))
    },
    render: () => {
      rendering ??= renderAll(families, deps).finally(() => {
        rendering = null
      })
      return rendering
    },
  }
}

interface Family {
  kind: 'counter' | 'gauge' | 'histogram'
  help: string
  lines(): Promise<string[]>
}

interface Histogram {
  /** How many are in each class, none counted twice; those above all bounds are in `count` alone. */
  classes: number[]
  count: number
  sum: number
}

/** The series of a figure by their labels, each made when it is first asked for. */
interface Series<T> {
  of(labels: Labels<string>): T
  /** With their labels as they are written. */
  all(): [labels: string, value: T][]
}

// Asked with every request: labels are written when somebody looks.
function createSeries<T>({ labels: names }: Metric<string>, make: () => T): Series<T> {
  const known = new Map<string, { labels: Labels<string>; value: T }>()
  return {
    of: (labels) => {
      const key = names.map((name) => labels[name]).join('\n')
      const found = known.get(key)
      if (found) return found.value
      const value = make()
      known.set(key, { labels, value })
      return value
    },
    all: () => [...known.values()].map(({ labels, value }) => [labelText(names, labels), value]),
  }
}

async function renderAll(
  families: ReadonlyMap<string, Family>,
  deps: { clock: Clock; logger: Logger },
): Promise<string> {
  const texts = await Promise.all([...families].map(([name, family]) => renderFamily(name, family, deps)))
  return texts.join('')
}

async function renderFamily(
  name: string,
  { kind, help, lines }: Family,
  { clock, logger }: { clock: Clock; logger: Logger },
): Promise<string> {
  const timer = new AbortController()
  const late = clock.sleep(READ_MS, timer.signal).then(() => {
    throw new Error(`It took longer than ${READ_MS} ms.`)
  })
  late.catch(() => undefined)
  try {
    const found = await Promise.race([lines(), late])
    if (found.length === 0) return ''
    return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n${found.join('\n')}\n`
  } catch (error) {
    logger.warn('a figure could not be read', { figure: name, error })
    return ''
  } finally {
    timer.abort()
  }
}

function observe(known: Histogram, bounds: readonly number[], seconds: number): void {
  const place = bounds.findIndex((bound) => seconds <= bound)
  if (place >= 0) known.classes[place] = (known.classes[place] ?? 0) + 1
  known.count += 1
  known.sum += seconds
}

function histogramLines(
  { name, labels, bounds }: { name: string; labels: string; bounds: readonly number[] },
  { classes, count, sum }: Histogram,
): string[] {
  const bucket = (bound: string, upTo: number): string =>
    `${name}_bucket${braced(joined(labels, `le="${bound}"`))} ${upTo}`
  let upTo = 0
  const lines = bounds.map((bound, place) => {
    upTo += classes[place] ?? 0
    return bucket(String(bound), upTo)
  })
  return [
    ...lines,
    bucket('+Inf', count),
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ]
}

function readingLine(figure: Metric<string>, { labels, value }: Sample<string>): string {
  return `${figure.name}${braced(labelText(figure.labels, labels))} ${value}`
}

function labelText(names: readonly string[], labels: Labels<string>): string {
  return names.map((name) => `${name}="${escapeValue(labels[name] ?? '')}"`).join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function joined(labels: string, last: string): string {
  return labels === '' ? last : `${labels},${last}`
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

// Well below the ten seconds after which Prometheus gives up by default.
const READ_MS = 4_000

import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/clock.ts'
import type { Figure, Labels, Meter, Reading } from '../ports/meter.ts'

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
  const add = (kind: Family['kind'], { name, help }: Figure<string>, lines: Family['lines']): void => {
    families.set(name, { kind, help, lines })
  }
  let rendering: Promise<string> | null = null
  return {
    counter: (figure) => {
      const counts = new Map<string, number>(figure.labels.length === 0 ? [['', 0]] : [])
      add('counter', figure, async () =>
        [...counts].map(([labels, count]) => `${figure.name}${braced(labels)} ${count}`),
      )
      return (labels) => {
        const text = labelText(figure.labels, labels)
        counts.set(text, (counts.get(text) ?? 0) + 1)
      }
    },
    histogram: (figure) => {
      const { name, bounds } = figure
      const series = new Map<string, Histogram>()
      add('histogram', figure, async () =>
        [...series].flatMap(([labels, each]) => histogramLines({ name, labels, bounds }, each)),
      )
      return (labels, seconds) => {
        const text = labelText(figure.labels, labels)
        const known = series.get(text) ?? { classes: bounds.map(() => 0), count: 0, sum: 0 }
        series.set(text, known)
        observe(known, bounds, seconds)
      }
    },
    reading: (kind, figure, read) => {
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

function readingLine(figure: Figure<string>, { labels, value }: Reading<string>): string {
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

import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../shell/theme.ts'
import { clockText } from './words.ts'

interface ChartProps {
  title: string
  /** Names of the lines, in the order of `values`. */
  names: readonly string[]
  /** Seconds since the epoch. */
  times: readonly number[]
  values: readonly (readonly (number | null)[])[]
  /** Words of a value. */
  words(value: number): string
  /** The most that the scale shows at least. */
  top?: number
  /** Steps of the scale are powers of two. */
  isBytes?: boolean
}

/** Lines over time. Its last values are in words above it, for those who do not see it. */
export function Chart({ title, names, times, values, words, top = 0, isBytes = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot | null>(null)
  const isDark = useIsDark()
  const last = values.map((line) => line.at(-1) ?? null)
  const data = dataOf(times, values)
  const latest = useRef({ words, data })
  latest.current = { words, data }
  const key = names.join()
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const options = optionsOf({ names: key.split(','), width: element.clientWidth, top, isBytes }, (value) =>
      latest.current.words(value),
    )
    const made = new UPlot(options, latest.current.data, element)
    chart.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      chart.current = null
    }
    // The colours are read from the theme when it is made.
  }, [key, top, isBytes, isDark])
  useEffect(() => chart.current?.setData(latest.current.data), [times])
  return (
    <figure className="rounded-lg border border-line bg-panel p-4">
      <figcaption className="mb-2 flex flex-wrap justify-between gap-2">
        <span className="font-semibold">{title}</span>
        <span className="text-muted tabular-nums">
          {last
            .map(
              (value, index) => `${names.length > 1 ? `${names[index]} ` : ''}${value === null ? '–' : words(value)}`,
            )
            .join(' · ')}
        </span>
      </figcaption>
      <div ref={place} aria-hidden className="h-40 w-full" />
    </figure>
  )
}

/** Returns the lines as the chart takes them: one point alone would be shown in years, none as of 1970. */
function dataOf(times: readonly number[], values: ChartProps['values']): UPlot.AlignedData {
  const [only = Date.now() / 1000] = times
  if (times.length > 1) return [times, ...values] as UPlot.AlignedData
  return [[only - SPAN_SECONDS, only], ...values.map(([value = null]) => [null, value])] as UPlot.AlignedData
}

function optionsOf(
  { names, width, top, isBytes }: { names: readonly string[]; width: number; top: number; isBytes: boolean },
  words: (value: number) => string,
): UPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const lines = [colour('--accent'), colour('--warn')]
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  return {
    width,
    height: HEIGHT_PX,
    // Half a time of day is beyond the last line.
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: (_chart, min, max) => [Math.min(min ?? max, max - SPAN_SECONDS), max] },
      y: { range: (_chart, _min, max) => [0, Math.max(top, max * 1.1, 1e-9)] },
    },
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: lines[index] ?? colour('--text'),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
      })),
    ],
    axes: [
      {
        ...axis,
        size: 28,
        space: 80,
        values: (...[, ticks, , , step]) => ticks.map((tick) => clockText(tick, step < 60)),
      },
      {
        ...axis,
        size: 74,
        ...(isBytes ? { incrs: POWERS } : {}),
        values: (_chart, ticks) => ticks.map((tick) => words(tick)),
      },
    ],
  }
}

const HEIGHT_PX = 160
/** The least time that a chart shows. */
const SPAN_SECONDS = 60
const POWERS = Array.from({ length: 48 }, (_, power) => 2 ** power)

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
  /** Text of a step of the scale. Default: the text of a value. */
  stepWords?(value: number): string
  /** The minimum of the scale's upper end. */
  top?: number
  /** Steps of the scale are powers of two. */
  isBytes?: boolean
}

/** Lines over time. Text above them shows the last values, for users who cannot see the chart. */
export function Chart({ title, names, times, values, words, stepWords = words, top = 0, isBytes = false }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<UPlot | null>(null)
  const isDark = useIsDark()
  const last = values.map((line) => line.at(-1) ?? null)
  const data = dataOf(times, values)
  const latest = useRef({ stepWords, data })
  latest.current = { stepWords, data }
  const key = names.join()
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const options = optionsOf({ names: key.split(','), width: element.clientWidth, top, isBytes }, (value) =>
      latest.current.stepWords(value),
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
    // The theme supplies the colours when the chart is created.
  }, [key, top, isBytes, isDark])
  useEffect(() => chart.current?.setData(latest.current.data), [times])
  return (
    <figure className="rounded-lg border border-line bg-panel p-4">
      <figcaption className="mb-2 flex flex-wrap justify-between gap-2">
        <span className="font-semibold">{title}</span>
        <span className="flex flex-wrap gap-x-4 text-muted tabular-nums">
          {last.map((value, index) => (
            <span key={names[index]} className="inline-flex items-center gap-1.5">
              {names.length > 1 && <LineMark index={index} />}
              {names.length > 1 && `${names[index]} `}
              {value === null ? '–' : words(value)}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} aria-hidden className="h-40 w-full" />
    </figure>
  )
}

/** A piece of a line, as the chart draws it. */
function LineMark({ index }: { index: number }) {
  const { colour, dash } = LINES[index] ?? LINES[0]
  return (
    <svg aria-hidden width="20" height="8" data-line={index} className="shrink-0 forced-color-adjust-none">
      <line x1="0" y1="4" x2="20" y2="4" stroke={`var(${colour})`} strokeWidth="2" strokeDasharray={dash.join(' ')} />
    </svg>
  )
}

/** Returns the lines as the chart takes them. It would show a single point in years, and no point as 1970. */
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
  const font = `12px ${getComputedStyle(document.body).fontFamily}`
  const axis = { font, stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
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
        stroke: colour((LINES[index] ?? LINES[0]).colour),
        dash: [...(LINES[index] ?? LINES[0]).dash],
        width: 1.5,
        spanGaps: false,
        points: { show: false },
      })),
    ],
    axes: [
      {
        ...axis,
        size: 22,
        space: 80,
        // Half of a time of day lies left of its line. At the left end it would cover the scale.
        values: (...[chart, ticks, , , step]) =>
          ticks.map((tick) => (chart.valToPos(tick, 'x') < HALF_TIME_PX ? null : clockText(tick, step < 60))),
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
/** Half the width of a time of day with seconds. */
const HALF_TIME_PX = 28
/** Distinguishes lines by colour, and all but the first also by dashes. */
const LINES = [
  { colour: '--accent', dash: [] },
  { colour: '--warn', dash: [6, 3] },
] as const
/** The minimum time that a chart shows. */
const SPAN_SECONDS = 60
const POWERS = Array.from({ length: 48 }, (_, power) => 2 ** power)

import { setTimeout as pause } from 'node:timers/promises'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import { formatBytes } from '../output/meter.ts'
import { printAnswer, printRows } from '../output/printing.ts'
import { clearScreen } from '../output/terminal.ts'
import { quantityOf, timerMs } from './quantities.ts'
import type { Verb } from './verb.ts'

const top: Verb = {
  words: 'top',
  args: '[box...]',
  flags: [['--every <time>', 'time between two samples, such as 5s (2)']],
  summary: 'Show the resource usage of running boxes, live on a terminal until Ctrl-C, otherwise once',
  examples: ['boxyard top', 'boxyard top web db --every 5', 'boxyard top -o json'],
  operations: ['listBoxes', 'getBoxMetrics'],
  run: async ({ boxyard, project, format }, names, flags) => {
    const seconds = quantityOf('seconds', 'every', flags['every'] ?? 2)
    if (!(seconds > 0)) throw new UsageError('--every: must be a time greater than 0, such as 5s.')
    const isLive = format === 'table' && process.stdout.isTTY
    let before = await readAll(boxyard, project(), names)
    for (;;) {
      // A share of CPU time covers the time between two samples.
      await pause(isLive ? timerMs(seconds) : ONCE_MS)
      const now = await readAll(boxyard, project(), names)
      const rows = now.map((box) =>
        usageRow(
          box,
          before.find((each) => each.box === box.box),
        ),
      )
      if (isLive) clearScreen()
      if (format === 'json' || format === 'yaml') return printAnswer(now, format)
      if (format === 'name') await printAnswer(rows, format)
      else printRows(rows)
      if (!isLive) return
      before = now
    }
  },
}

const metrics: Verb = {
  words: 'metrics',
  args: '<box>',
  flags: [
    ['--history', 'show the last two hours by the minute'],
    ['--step <time>', 'step of the history: 1m, or 10m for the last 24 hours'],
  ],
  summary: 'Show the current resource usage of a box, or its history',
  details: 'The history has no points for minutes in which the box or the service did not run.',
  examples: ['boxyard metrics web', 'boxyard metrics web --history', 'boxyard metrics web --step 600 -o json'],
  operations: ['getBoxMetrics', 'getBoxMetricsHistory'],
  run: async ({ boxyard, project, format, tell }, [name = ''], flags) => {
    const path = { project: project(), name }
    const { step } = flags
    if (flags['history'] !== true && step === undefined)
      return printAnswer(await boxyard.call('getBoxMetrics', { path }), format)
    const seconds = quantityOf('seconds', 'step', step ?? 60)
    if (seconds !== 60 && seconds !== 600) throw new UsageError('--step: must be 1m or 10m (60 or 600 seconds).')
    const query = { step_seconds: seconds === 600 ? (600 as const) : (60 as const) }
    const history = await boxyard.call('getBoxMetricsHistory', { path, query })
    if (history.points.length === 0) tell('No history yet. It starts with the second full minute that a box runs.')
    if (format === 'json' || format === 'yaml') return printAnswer(history, format)
    printRows(history.points.map(historyRow))
  },
}

/** The commands that show usage. */
export const TOP_VERBS: readonly Verb[] = [top, metrics]

type Metrics = AnswerOf<'getBoxMetrics'>

async function readAll(boxyard: Boxyard, project: string, names: readonly string[]): Promise<Metrics[]> {
  const running: string[] = [...names]
  if (names.length === 0)
    for await (const box of boxyard.list('listBoxes', { path: { project }, query: { status: 'running' } }))
      running.push(box.name)
  const found: (Metrics | null)[] = []
  const waiting = running.entries()
  const work = async (): Promise<void> => {
    for (const [index, name] of waiting) found[index] = await readOne(boxyard, { project, name })
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, work))
  return found.filter((each) => each !== null)
}

async function readOne(boxyard: Boxyard, path: { project: string; name: string }): Promise<Metrics | null> {
  try {
    return await boxyard.call('getBoxMetrics', { path })
  } catch (error) {
    // It was deleted after it was listed.
    if (error instanceof ApiError && error.code === 'box_not_found') return null
    throw error
  }
}

/** Creates the row of a box, with its share of the CPUs since `before`. A pure function. */
export function usageRow(now: Metrics, before: Metrics | undefined): Record<string, string> {
  const { cpu, memory, pids, network, storage } = now
  const seconds = before === undefined ? 0 : (Date.parse(now.at) - Date.parse(before.at)) / 1000
  const used = cpu.seconds === null ? null : cpu.seconds - (before?.cpu.seconds ?? cpu.seconds)
  const of = (bytes: number | null | undefined): string => (typeof bytes === 'number' ? formatBytes(bytes) : '-')
  return {
    name: now.box,
    cpu: used === null || seconds <= 0 ? '-' : `${((used / seconds) * 100).toFixed(1)} %`,
    cores: String(cpu.limit_cores),
    memory: `${of(memory.used_bytes)} / ${of(memory.limit_bytes)}`,
    processes: pids.current === null ? '-' : String(pids.current),
    disk: `${of(storage.used_bytes)} / ${of(storage.limit_bytes)}`,
    received: of(network?.received_bytes),
    sent: of(network?.sent_bytes),
  }
}

/** Creates the row of a point of the history. A pure function. */
export function historyRow(point: AnswerOf<'getBoxMetricsHistory'>['points'][number]): Record<string, string> {
  const { cpu_cores: cores, storage_bytes: storage } = point
  return {
    until: point.at.slice(0, 16).replace('T', ' '),
    cores: cores === null ? '-' : cores.toFixed(3),
    memory: formatBytes(point.memory_bytes),
    cache: formatBytes(point.cache_bytes),
    disk: storage === null ? '-' : formatBytes(storage),
    received: `${formatBytes(point.received_bytes_per_second)}/s`,
    sent: `${formatBytes(point.sent_bytes_per_second)}/s`,
  }
}

const READS_AT_ONCE = 8
const ONCE_MS = 500

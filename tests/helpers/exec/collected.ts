import type { Readable } from 'node:stream'
import {
  collectOutput,
  type OutputCollector,
  type OutputParts,
  type OutputSink,
  type OutputTee,
} from '../../../agent/lib/output/collector.ts'
import { createFlowTurns } from '../../../shared/flow-turns.ts'
import { createValve } from '../../../shared/valve.ts'

/** Collects the streams of a box's command without throttling. */
export function collect(
  streams: OutputParts<Readable>,
  sinks: OutputParts<OutputSink>,
  tees: OutputParts<OutputTee | null> = { stdout: null, stderr: null },
): OutputCollector {
  const valves = { stdout: createValve(streams.stdout), stderr: createValve(streams.stderr) }
  const turns = createFlowTurns({ pace: { bytesPerRound: PLENTY }, allowance: { burst: PLENTY, perSecond: PLENTY } })
  return collectOutput(valves, {
    ...{ sinks, tees },
    reading: { turns: { unread: turns, read: turns }, owner: { project: 'demo', box: 'web' } },
  })
}

const PLENTY = 1024 ** 3

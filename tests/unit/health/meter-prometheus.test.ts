import { expect, test } from '@jest/globals'
import { createPrometheusMeter, type PrometheusMeter } from '../../../agent/drivers/metrics/meter-prometheus.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import { figureOf } from '../../helpers/promtool.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

/** A clock whose sleeps last until they are broken off, or `ring` is called. */
function stillClock(): Clock & { ring(): void } {
  const sleepers = new Set<() => void>()
  return {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        sleepers.add(resolve)
        signal?.addEventListener('abort', () => resolve())
      }),
    ring: () => {
      for (const wake of sleepers) wake()
    },
  }
}

function newMeter(clock: Clock = stillClock()): PrometheusMeter {
  return createPrometheusMeter({ clock, logger: silentLogger })
}

test('a count without labels is there before anything has happened', async () => {
  const meter = newMeter()
  const count = meter.counter({ name: 'things_total', help: 'Things.', labels: [] })
  expect(await meter.render()).toBe('# HELP things_total Things.\n# TYPE things_total counter\nthings_total 0\n')
  count({})
  count({})
  expect(figureOf(await meter.render(), 'things_total')).toBe(2)
})

test('series of a figure are told apart by their labels', async () => {
  const meter = newMeter()
  const count = meter.counter({ name: 'things_total', help: 'Things.', labels: ['a', 'b'] })
  count({ a: '1', b: '2' })
  count({ b: '2', a: '1' })
  count({ a: '1', b: '3' })
  const text = await meter.render()
  expect(figureOf(text, 'things_total{a="1",b="2"}')).toBe(2)
  expect(figureOf(text, 'things_total{a="1",b="3"}')).toBe(1)
})

test('what a histogram counts is in every class that holds it, a bound in its own', async () => {
  const meter = newMeter()
  const time = meter.histogram({ name: 'work_seconds', help: 'Work.', labels: ['kind'], bounds: [0.1, 1] })
  for (const seconds of [0.05, 0.1, 0.5, 7]) time({ kind: 'x' }, seconds)
  expect((await meter.render()).split('\n').slice(2, -1)).toEqual([
    'work_seconds_bucket{kind="x",le="0.1"} 2',
    'work_seconds_bucket{kind="x",le="1"} 3',
    'work_seconds_bucket{kind="x",le="+Inf"} 4',
    'work_seconds_sum{kind="x"} 7.65',
    'work_seconds_count{kind="x"} 4',
  ])
})

test('quotes, backslashes and line ends in labels and help are escaped', async () => {
  const meter = newMeter()
  meter.counter({ name: 'odd_total', help: 'One\nand \\.', labels: ['a'] })({ a: 'x"\\\ny' })
  const text = await meter.render()
  expect(text).toContain('# HELP odd_total One\\nand \\\\.\n')
  expect(text).toContain('odd_total{a="x\\"\\\\\\ny"} 1\n')
})

test('a reading that fails, or does not come, is left out, and the others are told', async () => {
  const clock = stillClock()
  const meter = newMeter(clock)
  const figure = (name: string) => ({ name, help: 'One.', labels: [] })
  meter.observable('gauge', figure('broken'), async () => {
    throw new Error('The disk is gone.')
  })
  meter.observable('gauge', figure('stuck'), () => new Promise(() => undefined))
  meter.observable('gauge', figure('fine'), () => [{ labels: {}, value: 3 }])
  const rendered = meter.render()
  clock.ring()
  expect(await rendered).toBe('# HELP fine One.\n# TYPE fine gauge\nfine 3\n')
})

test('those who look at once cause one reading, later ones another', async () => {
  const meter = newMeter()
  let reads = 0
  meter.observable('counter', { name: 'reads_total', help: 'Reads.', labels: [] }, async () => {
    reads += 1
    return [{ labels: {}, value: reads }]
  })
  const both = await Promise.all([meter.render(), meter.render()])
  expect(both.map((text) => figureOf(text, 'reads_total'))).toEqual([1, 1])
  expect(figureOf(await meter.render(), 'reads_total')).toBe(2)
})

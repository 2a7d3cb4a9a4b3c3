import { expect, test } from '@jest/globals'
import { register } from 'prom-client'
import { createPrometheusMeter, type PrometheusMeter } from '../../../agent/drivers/metrics/meter-prometheus.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import { figureOf } from '../../helpers/promtool.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

/** A clock whose sleeps last until `ring`, or until their signal aborts. */
function stillClock(): Clock & { ring(): void; pass(ms: number): void } {
  let now = 0
  const sleepers = new Set<() => void>()
  return {
    now: () => now,
    pass: (ms) => {
      now += ms
    },
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

/** Returns the lines with values. */
function samplesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

function fail(): never {
  throw new Error('The disk is gone.')
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

test('series of a figure are distinguished by their labels', async () => {
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
  expect(samplesOf(await meter.render())).toEqual([
    'work_seconds_bucket{le="0.1",kind="x"} 2',
    'work_seconds_bucket{le="1",kind="x"} 3',
    'work_seconds_bucket{le="+Inf",kind="x"} 4',
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

test('a reading that fails or hangs is left out, and the others are shown', async () => {
  const clock = stillClock()
  const meter = newMeter(clock)
  const figure = (name: string) => ({ name, help: 'One.', labels: [] })
  meter.observable('gauge', figure('broken'), async () => fail())
  meter.observable('gauge', figure('stuck'), () => new Promise(() => undefined))
  meter.observable('gauge', figure('fine'), () => [{ labels: {}, value: 3 }])
  const rendered = meter.render()
  clock.ring()
  expect(samplesOf(await rendered)).toEqual(['fine 3'])
})

test('a reading that takes too long is for the scrape after it, and is begun once', async () => {
  const clock = stillClock()
  const meter = newMeter(clock)
  const ends: (() => void)[] = []
  meter.observable('gauge', { name: 'slow', help: 'One.', labels: [] }, async () => {
    await new Promise<void>((resolve) => ends.push(resolve))
    return [{ labels: {}, value: ends.length }]
  })
  const scrape = async (): Promise<string[]> => {
    const rendered = meter.render()
    clock.ring()
    return samplesOf(await rendered)
  }
  expect([await scrape(), await scrape(), ends.length]).toEqual([[], [], 1])
  for (const end of ends) end()
  await Promise.resolve()
  expect(samplesOf(await meter.render())).toEqual(['slow 1'])
  expect([await scrape(), ends.length]).toEqual([[], 2])
  // The collector gives up on it after a minute.
  clock.pass(61_000)
  expect([await scrape(), ends.length]).toEqual([[], 3])
})

test('a reading that fails too late is begun anew', async () => {
  const clock = stillClock()
  const meter = newMeter(clock)
  const begun: ((error: Error) => void)[] = []
  meter.observable(
    'gauge',
    { name: 'slow', help: 'One.', labels: [] },
    () => new Promise((_resolve, reject) => begun.push(reject)),
  )
  const rendered = meter.render()
  clock.ring()
  await rendered
  begun[0]?.(new Error('The disk is gone.'))
  await new Promise(setImmediate)
  const again = meter.render()
  clock.ring()
  expect([samplesOf(await again), begun.length]).toEqual([[], 2])
})

test('a reading that has failed shows no old values', async () => {
  const meter = newMeter()
  const looks = [() => 1, () => fail(), () => 2]
  const figure = (name: string, labels: readonly 'a'[]) => ({ name, help: 'One.', labels })
  for (const kind of ['gauge', 'counter'] as const) {
    const values = looks[Symbol.iterator]()
    meter.observable(kind, figure(kind, ['a']), () => [{ labels: { a: kind }, value: values.next().value?.() ?? 0 }])
  }
  expect(samplesOf(await meter.render())).toEqual(['gauge{a="gauge"} 1', 'counter{a="counter"} 1'])
  expect(samplesOf(await meter.render())).toEqual([])
  expect(samplesOf(await meter.render())).toEqual(['gauge{a="gauge"} 2', 'counter{a="counter"} 2'])
})

test('a negative count is left out, and the others are shown', async () => {
  const meter = newMeter()
  meter.observable('counter', { name: 'odd_total', help: 'One.', labels: [] }, () => [{ labels: {}, value: -1 }])
  meter.observable('gauge', { name: 'fine', help: 'One.', labels: [] }, () => [{ labels: {}, value: -1 }])
  expect(samplesOf(await meter.render())).toEqual(['fine -1'])
})

test('meters are independent of each other', async () => {
  const [one, other] = [newMeter(), newMeter()]
  for (const meter of [one, other]) meter.counter({ name: 'things_total', help: 'Things.', labels: [] })({})
  expect(samplesOf(await one.render())).toEqual(['things_total 1'])
  expect(await register.metrics()).toBe('\n')
})

test('concurrent scrapes cause one reading, later ones another', async () => {
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

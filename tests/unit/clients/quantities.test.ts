import { expect, test } from '@jest/globals'
import { placeOf } from '../../../cli/output/fault-places.ts'
import { briefOf, URL_BRIEF } from '../../../cli/verbs/briefs.ts'
import { type QuantityKind, quantityOf } from '../../../cli/verbs/quantities.ts'
import { notInForce } from '../../../cli/verbs/services.ts'

test.each<[QuantityKind, string, number]>([
  ['seconds', '90', 90],
  ['seconds', '0.2', 0.2],
  ['seconds', '90s', 90],
  ['seconds', '12h', 43_200],
  ['seconds', '30d', 2_592_000],
  ['seconds', '2w', 1_209_600],
  ['seconds', '1h30m', 5400],
  ['seconds', '1h 30 min', 5400],
  ['seconds', '250ms', 0.25],
  ['seconds', '5 minutes', 300],
  ['seconds', '1.5D', 129_600],
  ['mib', '512', 512],
  ['mib', '512m', 512],
  ['mib', '2g', 2048],
  ['mib', '2GB', 2048],
  ['mib', '2GiB', 2048],
  ['mib', '1.5g', 1536],
  ['mib', '1.1g', 1126],
  ['gib', '20', 20],
  ['gib', '20g', 20],
  ['gib', '512m', 0.5],
  ['gib', '1t', 1024],
])('as %s %j is %d', (kind, text, expected) => {
  expect(quantityOf(kind, 'flag', text)).toBe(expected)
})

test.each<[QuantityKind, string]>([
  ['seconds', ''],
  ['seconds', 'soon'],
  ['seconds', '5g'],
  ['seconds', '1h30'],
  ['seconds', '-5m'],
  ['seconds', '1y'],
  ['mib', '2h'],
  ['mib', 'g'],
  ['gib', '1.2.3g'],
  ['gib', '5constructor'],
])('as %s %j is refused with what is taken', (kind, text) => {
  expect(() => quantityOf(kind, 'size_gb', text)).toThrow(
    `--size-gb: must be a ${kind === 'seconds' ? 'time' : 'size'} such as`,
  )
})

test('a fault is of the flag that was typed, else of --data', () => {
  const verb = {
    args: '<box>',
    flags: [
      ['--idle-stop <time>', ''],
      ['-d, --data <json>', ''],
    ],
  } as const
  const pointer = '/url_settings/idle_stop_seconds'
  expect(placeOf(pointer, verb, { idleStop: '0' })).toBe('--idle-stop')
  expect(placeOf(pointer, verb, { idleStop: '0', data: '{}' })).toBe('--idle-stop')
  expect(placeOf(pointer, verb, { data: '{}' })).toBe('url_settings.idle_stop_seconds of --data')
})

test('a short answer has the fields that have a value', () => {
  const box = {
    ...{ id: 'box_1', name: 'web', status: 'running', state: { message: null }, url: 'http://web/' },
    ...{ port: null, published_domains: [], url_settings: { auth: 'public' }, tags: { a: 'b' } },
  }
  expect(briefOf(URL_BRIEF, box)).toEqual({ name: 'web', status: 'running', url: 'http://web/', auth: 'public' })
  expect(briefOf(URL_BRIEF, undefined)).toEqual({})
})

test('fields of a definition that the running process has not are not in force', () => {
  const spec = { command: ['a'], env: {}, cwd: null, port: 3000 }
  const running = (over: object, alive = true): any => ({
    spec: { ...spec, command: ['b'], port: 4000 },
    active: { alive, spec: { ...spec, ...over } },
  })
  expect(notInForce(running({}))).toEqual(['command', 'port'])
  expect(notInForce(running({ command: ['b'] }))).toEqual(['port'])
  expect(notInForce(running({}, false))).toEqual([])
  expect(notInForce({ ...running({}), active: null })).toEqual([])
})

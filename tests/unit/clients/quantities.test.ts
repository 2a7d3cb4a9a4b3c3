import { expect, test } from '@jest/globals'
import { placeOf } from '../../../cli/output/fault-places.ts'
import { mountsOf } from '../../../cli/verbs/box-settings.ts'
import { briefOf, URL_BRIEF } from '../../../cli/verbs/briefs.ts'
import { fieldsFrom, jsonFrom, pairsOf } from '../../../cli/verbs/plain.ts'
import { type QuantityKind, quantityOf, timerMs } from '../../../cli/verbs/quantities.ts'
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
  ['seconds', 'Infinity'],
  ['seconds', '-Infinity'],
  ['seconds', '1e999'],
  ['seconds', '1e-999'],
  ['seconds', `${'9'.repeat(310)}d`],
  ['mib', '1e999'],
  ['gib', 'infinity'],
])('as %s %j is refused with what is taken', (kind, text) => {
  expect(() => quantityOf(kind, 'size_gb', text)).toThrow(
    `--size-gb: must be a ${kind === 'seconds' ? 'time' : 'size'} such as`,
  )
})

test.each<[QuantityKind, string]>([
  ['mib', '400k'],
  ['mib', '1b'],
  ['gib', '100k'],
  ['seconds', '0.4ms'],
])('as %s %j is refused, since it would be rounded to 0', (kind, text) => {
  expect(() => quantityOf(kind, 'ram_mb', text)).toThrow(`--ram-mb: "${text}" is too small. It must be a `)
})

test('zero is what was typed as zero', () => {
  for (const text of ['0', '0.0', '0e5', '0s', '0m'])
    expect([text, quantityOf('seconds', 'grace', text)]).toEqual([text, 0])
})

test('a number of a flag is one that JSON can tell', () => {
  for (const text of ['0', '-1', '1.5', '1e3', '0e9'])
    expect(fieldsFrom(['port:number'], { port: text })).toEqual({ port: Number(text) })
  for (const text of ['', ' ', 'x', 'NaN', 'Infinity', '-Infinity', '1e999', '1e-999'])
    expect(() => fieldsFrom(['port:number'], { port: text })).toThrow(`--port: must be a number, not "${text}".`)
})

test('a time or a number may have a word for none', () => {
  const fields = ['every:span', 'keep:count']
  for (const word of ['never', 'forever']) expect(fieldsFrom(fields, { every: word })).toEqual({ every: null })
  expect(fieldsFrom(fields, { every: '12h', keep: 'all' })).toEqual({ every: 43_200, keep: null })
  expect(fieldsFrom(fields, { keep: '3' })).toEqual({ keep: 3 })
  expect(() => fieldsFrom(fields, { every: 'soon' })).toThrow(/^--every: must be a time .*, or never, not "soon"\.$/)
  expect(() => fieldsFrom(fields, { keep: 'never' })).toThrow('--keep: must be a number, or all, not "never".')
})

test('a pair names its flag, and a mount is VOLUME:PATH', () => {
  for (const pair of ['x', '=x', ''])
    expect(() => pairsOf([pair], '--env')).toThrow(`--env: must be KEY=VALUE, not "${pair}".`)
  expect(() => fieldsFrom(['tag=tags:map'], { tag: ['x'] })).toThrow('--tag: must be KEY=VALUE, not "x".')
  const mount = { path: '/var/c', read_only: false }
  expect(mountsOf({ mount: ['c:/var/c', 'c:/var/c:rw'] })).toEqual([
    { name: 'c', ...mount },
    { name: 'c', ...mount },
  ])
  expect(mountsOf({ mount: ['c:/var/c:ro'] })).toEqual([{ name: 'c', path: '/var/c', read_only: true }])
  for (const text of ['c', 'c:', ':/x', '', 'c:rel', 'c:/x:no', 'c:/x:ro:y', '/x', '/x:c'])
    expect(() => mountsOf({ mount: [text] })).toThrow(/^--mount: must be VOLUME:PATH or VOLUME:PATH:ro .*, not "/)
})

test('a number of --data is one that JSON can tell', () => {
  expect(jsonFrom('{"port":81,"config":{"cpus":null}}')).toEqual({ port: 81, config: { cpus: null } })
  expect(() => jsonFrom('{"config":{"ram_mb":1e999}}')).toThrow('--data: the number at "ram_mb" is too large.')
  expect(() => jsonFrom('{')).toThrow('--data: must be JSON.')
})

test('a time that was long ago is the earliest', () => {
  expect(fieldsFrom(['since:since'], { since: '9999999999w' })).toEqual({ since: '1970-01-01T00:00:00.000Z' })
})

test('a timer waits no longer than Node.js can, and whole milliseconds', () => {
  expect([2, 1.001, 0.0002, 30 * 86_400, Number.POSITIVE_INFINITY].map(timerMs)).toEqual([
    ...[2000, 1001, 1, 2_147_483_000, 2_147_483_000],
  ])
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

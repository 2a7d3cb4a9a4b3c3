import { expect, test } from '@jest/globals'
import { faultLine, placeOf } from '../../../cli/output/fault-places.ts'
import { mountsOf } from '../../../cli/verbs/box-settings.ts'
import { briefOf, URL_BRIEF } from '../../../cli/verbs/briefs.ts'
import { anyJsonFrom, fieldsFrom, jsonFrom, pairsOf } from '../../../cli/verbs/plain.ts'
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
  ['seconds', '-1'],
  ['gib', '-0.5'],
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

test.each(['[]', '[{}]', '5', '"x"', 'null', 'true'])('--data is an object, and not %s', (text) => {
  expect(() => jsonFrom(text)).toThrow('--data: must be a JSON object.')
  expect(anyJsonFrom(text)).toEqual(JSON.parse(text))
})

test.each([
  ['/seconds', 'must be at most 604800', '--seconds: must be at most 7d (604800 seconds)'],
  [
    '/timeout_seconds',
    'must be from 0.001 to 2147483',
    '--timeout: must be from 1ms (0.001 seconds) to 24d 20h (2147483 seconds)',
  ],
  ['/config/ram_mb', 'must be at least 16', '--ram-mb: must be at least 16m (16 MiB)'],
  ['/config/ram_mb', 'must be at most 16777216', '--ram-mb: must be at most 16t (16777216 MiB)'],
  ['/config/storage_gb', 'must be at most 1536', '--storage-gb: must be at most 1536g (1536 GiB)'],
  ['/idle_stop_seconds', 'must be at least 1', '--idle-stop: must be at least 1s'],
  ['/config/ram_mb', 'must be at least 0', '--ram-mb: must be at least 0'],
  ['/config/cpus', 'must be at most 2, the CPUs of this host', '--cpus: must be at most 2, the CPUs of this host'],
  ['/tags', 'at most 64 tags', 'tags of --data: at most 64 tags'],
  ['/config/shm_mb', 'must be at most 512', 'config.shm_mb of --data: must be at most 512'],
])('the error for a limit at %s uses the unit that people type', (pointer, detail, line) => {
  const names = ['seconds', 'timeout', 'ram-mb', 'storage-gb', 'idle-stop', 'cpus', 'data']
  const verb = { args: '<box>', flags: names.map((name) => [`--${name} <x>`, ''] as const) }
  expect(faultLine({ pointer, detail }, verb, {})).toBe(line)
})

test('the longest life of a token is one that the service takes', () => {
  const flags = [['--expires, --expires-in-seconds <time>', '']] as const
  const detail = 'at most 2591683, because the token that you use expires on 2026-12-27T00:00:00.000Z.'
  const line = faultLine({ pointer: '/expires_in_seconds', detail }, { args: '', flags }, {})
  expect(line).toMatch(/^--expires-in-seconds: at most 29d 23h \(2591683 seconds\), because the token/)
  expect(quantityOf('seconds', 'expires', '29d 23h')).toBeLessThanOrEqual(2_591_683)
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

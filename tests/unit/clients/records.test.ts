import { expect, test } from '@jest/globals'
import { placeOf } from '../../../cli/output/fault-places.ts'
import { numberText, recordText } from '../../../cli/output/records.ts'

const tableOf = (columns: readonly string[], rows: readonly Record<string, unknown>[]): string =>
  [columns.join('|'), ...rows.map((row) => columns.map((column) => String(row[column])).join('|'))].join('\n')

test('a record is told line by line, with what has fields of its own below, tables of lists, and bytes with a unit', () => {
  const record = {
    name: 'web',
    lease_until: null,
    config: { cpus: 1, nesting: false, deeper: { used_bytes: 1_572_864 } },
    tags: {},
    domains: ['a.example', 'b.example'],
    mounts: [{ name: 'db', path: '/db', owner: null }],
    none: [],
  }
  expect(recordText(record, tableOf).split('\n')).toEqual([
    'name         web',
    'lease_until  -',
    'config',
    '  cpus     1',
    '  nesting  false',
    '  deeper',
    '    used_bytes  1.5 MiB',
    'tags         -',
    'domains      a.example, b.example',
    'mounts',
    '  name|path|owner',
    '  db|/db|null',
    'none         -',
  ])
})

test('numbers are rounded for people, to three digits or to the point', () => {
  const record = { size_gb: 0.48828125, storage_gb: 1_000_056.488, used: 0.0001068115234375, cpus: 1.5, port: 65_535 }
  expect(recordText(record, tableOf).split('\n')).toEqual([
    ...['size_gb     0.488', 'storage_gb  1000056', 'used        0.000107', 'cpus        1.5', 'port        65535'],
  ])
  expect([0.15011038, 99.96, 123.6, -0.12345, 0].map(numberText)).toEqual(['0.15', '100', '124', '-0.123', '0'])
})

test('lines of a value stay below their field', () => {
  const record = { stdout: 'a\nstatus  ok\n', in: { message: 'b\nc' } }
  expect(recordText(record, tableOf).split('\n')).toEqual([
    'stdout  a',
    '        status  ok',
    'in',
    '  message  b',
    '           c',
  ])
})

test('snapshots follow what they are of', () => {
  const boxes = [{ name: 'web', size_bytes: 2, snapshots: [{ name: 'good', size_bytes: 1 }] }]
  expect(recordText({ boxes }, tableOf)).toBe('boxes\n  name|size_bytes\n  web|2\n  web@good|1')
})

test('a record does not command the terminal', () => {
  expect(recordText({ message: 'a\x1b[2J', list: ['\x07'] }, tableOf)).toBe('message  a\\x1b[2J\nlist     \\x07')
})

test.each([
  ['/config/ram_mb', '--ram-mb'],
  ['/environment/A~1b', '--env A/b'],
  ['/tags', '--tag'],
  ['/name', '<box>'],
  ['/path/name', '<box>'],
  ['/path/project', '--project'],
  ['/path', '<path>'],
  ['/from', '<source>'],
  ['/data_mounts/0/name', '--mount'],
  ['/url_settings/wake', 'url_settings.wake of --data'],
  ['', 'the request'],
])('a fault at %j is in %s', (pointer, place) => {
  const flags = [
    ['--ram-mb <n>', ''],
    ['-e, --env <key=value...>', ''],
    ['--tag <key=value...>', ''],
    ['--mount <volume:path...>', ''],
    ['-d, --data <json>', ''],
  ] as const
  expect(placeOf(pointer, { args: '<box> <path>', flags, fills: { from: '<source>' } })).toBe(place)
})

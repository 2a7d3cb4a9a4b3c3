import { describe, expect, test } from '@jest/globals'
import { withDefaultBox } from '../../../cli/context/default-box.ts'
import { accountOf } from '../../../cli/files/accounts.ts'
import { checkLocalName, copyNameOf, isLocalName } from '../../../cli/files/local-name.ts'
import { remotePathOf } from '../../../cli/files/remote-path.ts'
import { formatBytes } from '../../../cli/output/meter.ts'
import { escapeYaml, visibleJson, visibleLine, visibleText } from '../../../cli/output/visible-text.ts'
import { progressLine } from '../../../cli/output/waiting.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'
import { findVerbs } from '../../../cli/verbs/find.ts'
import { lastLines } from '../../../cli/verbs/logs.ts'
import { withoutCluster } from '../../../cli/verbs/more.ts'
import { resultLine } from '../../../cli/verbs/sync.ts'
import { serviceRows } from '../../../cli/verbs/table.ts'
import { historyRow, usageRow } from '../../../cli/verbs/top.ts'
import { openerOf } from '../../../cli/verbs/urls.ts'
import { volumeRows } from '../../../cli/verbs/volume-table.ts'

describe('a point stands for the box of the directory', () => {
  test.each([
    ['<box>', ['.'], ['web']],
    ['<box...>', ['.', 'db', '.'], ['web', 'db', 'web']],
    ['<box> <command...>', ['.', 'ls', '.'], ['web', 'ls', '.']],
    ['<volume> <box> <path>', ['cache', '.', '/srv'], ['cache', 'web', '/srv']],
    ['<path> <path...>', ['.:a', '.'], ['web:a', '.']],
    ['<dir> <box:dir>', ['.', '.:srv'], ['.', 'web:srv']],
    ['<source> <box>', ['.@good', 'try'], ['web@good', 'try']],
    ['<project>', ['.'], ['.']],
  ])('where the arguments are %s', (shape, given, expected) => {
    expect(withDefaultBox(shape, given, () => 'web')).toEqual(expected)
  })

  test('and is refused where the directory has none', () => {
    expect(() => withDefaultBox('<box>', ['.'], () => null)).toThrow('BOXYARD_BOX')
    expect(withDefaultBox('<box>', ['db'], () => null)).toEqual(['db'])
  })
})

test('the verbs of each word are found without the others, in the order of the help', async () => {
  const byWord = Map.groupBy(allVerbs(), ({ words }) => words.split(' ')[0] ?? '')
  for (const [word, verbs] of byWord)
    expect((await findVerbs(word)).map(({ words }) => words)).toEqual(verbs.map(({ words }) => words))
  expect(await findVerbs('nonsense')).toEqual([])
})

test('BOX:PATH is told from paths of this machine', () => {
  expect(remotePathOf('web:/srv')).toEqual({ box: 'web', path: '/srv' })
  expect(remotePathOf('web:')).toEqual({ box: 'web', path: '' })
  for (const local of ['./web:x', '/a:b', 'C:\\a', 'a/b:c', '-'])
    expect([local, remotePathOf(local)]).toEqual([local, null])
})

test('the home of root is that of the user with id 0', () => {
  expect(accountOf('bin:x:1:1:bin:/bin:/sbin/nologin\nadmin:x:0:0:root:/home/admin:/bin/sh\n', '0').home).toBe(
    '/home/admin',
  )
  expect(accountOf('root:x:0:0\n', '0').home).toBe('/root')
  expect(accountOf('', '0').home).toBe('/root')
})

test('a volume is listed with its boxes, and a service with its port, URL and preview', () => {
  const attachments = [
    { box: 'web', path: '/srv', read_only: false },
    { box: 'ci', path: '/in', read_only: true },
  ]
  expect(volumeRows({ volumes: [{ name: 'db', attachments }] })).toMatchObject([
    { name: 'db', attached: ['web:/srv', 'ci:/in:ro'] },
  ])
  const service = { name: 'site', state: 'running', spec: { port: 3000 }, active_url: 'http://web/', id: 'x' }
  const services = [
    { ...service, preview: null },
    { ...service, preview: { state: 'running' } },
  ]
  expect(serviceRows({ services })).toEqual(
    [null, 'running'].map((preview) => ({
      ...{ name: 'site', state: 'running', port: 3000, url: 'http://web/', preview },
    })),
  )
})

test('health without a cluster has no fields of one', () => {
  const cluster = { nodes: [], total_pods_capacity: 0, total_pods_running: 0 }
  const health: object = { status: 'ok', kubernetes: cluster, namespace: '' }
  expect(withoutCluster(health)).toEqual({ status: 'ok' })
  const nodes = [{ name: 'one' }] as any
  expect(withoutCluster({ kubernetes: { ...cluster, nodes }, namespace: 'boxes' })).toMatchObject({
    namespace: 'boxes',
  })
})

test('the last lines of a text are whole', () => {
  const of = (text: string, lines: number): string => lastLines(Buffer.from(text), lines).toString()
  expect(of('a\nb\nc\n', 2)).toBe('b\nc\n')
  expect(of('a\nb\nc', 2)).toBe('b\nc')
  expect(of('a\n\n', 1)).toBe('\n')
  expect(of('a\nb\n', 5)).toBe('a\nb\n')
  expect([of('a\n', 0), of('', 3)]).toEqual(['', ''])
})

describe('what a box says does not command the terminal', () => {
  const hostile = 'a\x1b[2Jb\x07\x7f\x9bc\u202e\u2066\u061cd\te\n'

  test('as text, a line of names, JSON and YAML', () => {
    expect(visibleText(hostile)).toBe('a\\x1b[2Jb\\x07\\x7f\\x9bc\\u202e\\u2066\\u061cd\te\n')
    expect(visibleLine('a\tb\nc\r')).toBe('a\\x09b\\x0ac\\x0d')
    const json = visibleJson({ [hostile]: hostile })
    expect(json).toMatch(/^[ -~]*$/)
    expect(JSON.parse(json)).toEqual({ [hostile]: hostile })
    expect(escapeYaml('"\x9b\u202e"')).toBe('"\\x9b\\u202e"')
  })

  test('other text, of any script, stays what it is', () => {
    for (const text of ['שלום עולם', 'مرحبا', '日本語', '👩‍🚀', 'é'])
      expect([visibleText(text), visibleLine(text), JSON.parse(visibleJson(text))]).toEqual([text, text, text])
  })
})

test('bytes are told in the units of limits, which are powers of 1024', () => {
  expect([0, 1023, 1024, 1536, 102_348, 1_048_576, 536_870_912, 1_073_741_824].map(formatBytes)).toEqual([
    ...['0 B', '1023 B', '1.0 KiB', '1.5 KiB', '99.9 KiB'],
    ...['1.0 MiB', '512 MiB', '1.0 GiB'],
  ])
})

test('an operation is told with how far it is, where that is known', () => {
  const operation = { kind: 'base.import', resource: '/v1/projects/demo/bases/tools', progress: 0.426 }
  expect(progressLine(operation)).toBe('Waiting for base.import of tools: 42 %')
  expect(progressLine({ ...operation, progress: null })).toBe('Waiting for base.import of tools')
})

test('a round of sync is told in a line, unless it did nothing', () => {
  expect(resultLine({ sent: [], deleted: [], bytes: 0 }, false)).toBeNull()
  expect(resultLine({ sent: ['a'], deleted: [], bytes: 12 }, false)).toBe('sent a, 12 B')
  expect(resultLine({ sent: ['a', 'b'], deleted: ['c'], bytes: 0 }, true)).toBe(
    'would send 2 entries, 0 B; would delete c',
  )
})

test('a browser is started only for who can see it', () => {
  expect(openerOf('linux', { DISPLAY: ':0' })).toEqual(['xdg-open'])
  expect(openerOf('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open'])
  expect(openerOf('linux', {})).toBeNull()
  expect(openerOf('darwin', {})).toEqual(['open'])
})

test('the share of processors is that between two looks', () => {
  const look = (at: string, seconds: number | null): Parameters<typeof usageRow>[0] => ({
    box: 'web',
    at,
    cpu: { seconds, limit_cores: 2 },
    memory: { used_bytes: 1_048_576, cache_bytes: 0, limit_bytes: 2_097_152 },
    pids: { current: 3, limit: 100 },
    network: null,
    storage: { used_bytes: 0, limit_bytes: 1000, unique_bytes: 0, project_stored_bytes: 0 },
  })
  const before = look('2026-01-01T00:00:00.000Z', 10)
  expect(usageRow(look('2026-01-01T00:00:02.000Z', 11), before)).toMatchObject({
    cpu: '50.0 %',
    memory: '1.0 MiB / 2.0 MiB',
  })
  expect(usageRow(before, undefined)).toMatchObject({ cpu: '-', processes: '3' })
  expect(usageRow(look('2026-01-01T00:00:02.000Z', null), before)).toMatchObject({ cpu: '-' })
})

test('a point of the history is a row, and what is not known a dash', () => {
  const point = {
    at: '2026-01-01T00:01:00.000Z',
    cpu_cores: 0.5,
    memory_bytes: 1_048_576,
    cache_bytes: 0,
    storage_bytes: null,
    received_bytes_per_second: 2048,
    sent_bytes_per_second: 0,
  }
  expect(historyRow(point)).toEqual({
    until: '2026-01-01 00:01',
    cores: '0.500',
    memory: '1.0 MiB',
    cache: '0 B',
    disk: '-',
    received: '2.0 KiB/s',
    sent: '0 B/s',
  })
  expect(historyRow({ ...point, cpu_cores: null }).cores).toBe('-')
})

describe('the gate for names that a box chose', () => {
  test.each(['', '.', '..', 'a/b', '/', 'a\0b'])('has none that is %j', (name) => {
    expect(isLocalName(name, 'linux')).toBe(false)
    expect(() => checkLocalName(name)).toThrow('this system does not allow')
  })

  test('lets others through, on Windows none that leads elsewhere there', () => {
    for (const name of ['a', '...', '.ssh', 'a\\b', 'c:d'])
      expect([name, isLocalName(name, 'linux')]).toEqual([name, true])
    for (const name of ['a\\b', 'c:d', '..\\x']) expect([name, isLocalName(name, 'win32')]).toEqual([name, false])
  })

  test('takes the name of a copy from what was typed', () => {
    const named = (path: string): string => copyNameOf({ box: 'web', path })
    for (const path of ['', '/', '.', './', '..', '~', '~/', '/srv/..', '../..', 'a/../..'])
      expect([path, named(path)]).toEqual([path, 'web'])
    for (const path of ['a', '/srv/a', 'a/', 'a/.', 'a/b/..', '~/a']) expect([path, named(path)]).toEqual([path, 'a'])
  })
})

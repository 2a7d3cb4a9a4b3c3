import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { readGivenSettings, readTakeDownSettings } from '../../../agent/config/given.ts'
import { areaOf } from '../../../agent/doctor/findings.ts'
import { isServiceCommand, parseListening } from '../../../agent/doctor/probes/ports.ts'
import { findLastFailure, parseUnits } from '../../../agent/doctor/probes/service.ts'
import { formatJson, formatText, isSound } from '../../../agent/doctor/report.ts'
import { agentCommand, frontCommand, ROOT } from '../../../infra/commands.ts'

const area = areaOf('disk')
const program = { version: '1.2.0', commit: null }
const wrong = { code: 'mode_open', evidence: 'It is open.', remedy: 'Close it.' } as const

describe('a report', () => {
  test('names what is wrong with its remedy, and the sum', () => {
    const findings = [
      area.ok('All is well.'),
      area.note(wrong),
      area.problem({ ...wrong, fix: { kind: 'chmod', path: '/x', mode: 0o600 } }),
      area.unknown('The rest', 'no right'),
    ]
    expect(formatText({ program, findings, fixes: [{ what: 'chmod 0600 /y', error: null }] })).toBe(
      `Done: chmod 0600 /y
ok       disk         All is well.
note     disk         It is open.
                      → Close it.
PROBLEM  disk         It is open.
                      → Close it. (--fix does it)
unknown  disk         The rest: no right
1 problem, 1 note, 1 not checked.`,
    )
    expect(isSound({ program, findings, fixes: [] })).toBe(false)
    expect(JSON.parse(formatJson({ program, findings, fixes: [] }))).toMatchObject({
      status: 'problems',
      checks: [{ level: 'ok' }, { level: 'note' }, { level: 'problem', fixable: true }, { level: 'unknown' }],
    })
  })

  test('without a problem is sound', () => {
    expect(isSound({ program, findings: [area.note(wrong), area.unknown('x', 'y')], fixes: [] })).toBe(true)
    expect(formatText({ program, findings: [area.ok('Fine.')], fixes: [] })).toMatch(/\nNo problems\.$/)
  })
})

test('wrong settings are told one by one, and the others are in force', () => {
  const { faults, agent, front, given } = readGivenSettings({
    ...{ BOXYARD_POOL_GB: 'x', BOXYARD_NONE: '1', BOXYARD_PORT: '99999', BOXYARD_DATA_CERT: '/cert.pem' },
    ...{ BOXYARD_DATA_DIR: '/data', BOXYARD_AGENT_PORT: '7000', OTHER: 'x', BOXYARD_HOST: '' },
  })
  expect(faults.sort()).toEqual([
    expect.stringContaining('BOXYARD_DATA_CERT and BOXYARD_DATA_KEY: set both or neither'),
    'BOXYARD_NONE: no such setting.',
    expect.stringContaining('BOXYARD_POOL_GB="x": expected a number'),
    expect.stringContaining('BOXYARD_PORT="99999": expected'),
  ])
  expect([agent.dataDir, agent.port, front]).toEqual(['/data', 7000, { host: '127.0.0.1', port: 8080 }])
  expect(Object.keys(given)).not.toContain('OTHER')
})

test('a wrong setting keeps no deployment from being taken down, unless it tells which', () => {
  const told: string[] = []
  const read = (given: Record<string, string>) => readTakeDownSettings((fault) => told.push(fault), given)
  expect(read({ BOXYARD_DATA_DIR: '/data', BOXYARD_EGRESS: 'perhaps', BOXYARD_NONE: '1' }).dataDir).toBe('/data')
  expect(told).toEqual([expect.stringContaining('BOXYARD_EGRESS'), expect.stringContaining('BOXYARD_NONE')])
  expect(() => read({ BOXYARD_RUNTIME: 'docker', BOXYARD_EGRESS: 'perhaps' })).toThrow('BOXYARD_RUNTIME="docker"')
})

test('listening sockets are read from the tables of the kernel', () => {
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
  const tcp = `${head}   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n   1: 0100007F:1F91 0100007F:AAAA 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n`
  const tcp6 = `${head}   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1\n   1: 00000000000000000000000001000000:0051 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 4714 1\n`
  expect(parseListening(tcp, tcp6)).toEqual([
    { host: '127.0.0.1', isAny: false, port: 8080, uid: 0, inode: '4711' },
    expect.objectContaining({ isAny: true, port: 80, uid: 1000, inode: '4713' }),
    expect.objectContaining({ host: '::1', isAny: false, port: 81, inode: '4714' }),
  ])
})

test('agent and front are known by their commands: of a checkout, of the units, and of a run of tests', () => {
  const units = ['boxyard-agent', 'boxyard-front'].map((name) =>
    readFileSync(join(ROOT, `infra/systemd/${name}.service`), 'utf8').replace(/^.*^ExecStart=(.*?)$.*$/ms, '$1'),
  )
  const bundles = [agentCommand([], '.build/agent/main.mjs'), frontCommand('.build/functions/standalone.mjs')]
  for (const command of [...units.map((line) => line.split(' ')), agentCommand(), frontCommand(), ...bundles]) {
    expect([command, isServiceCommand(command)]).toEqual([command, true])
  }
  for (const line of ['node /srv/other-agent/main.ts', 'vi agent/main.ts.md', 'node agent/shim/main.ts']) {
    expect([line, isServiceCommand(line.split(' '))]).toEqual([line, false])
  }
})

test('units are read from what systemctl shows', () => {
  const shown = `Id=boxyard-agent.service
LoadState=loaded
ActiveState=failed
SubState=failed
UnitFileState=enabled
Result=exit-code
StatusText=Building the debian base

Id=boxyard-front.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=
Result=success
StatusText=
`
  expect(parseUnits(shown)).toEqual([
    {
      ...{ name: 'boxyard-agent.service', load: 'loaded', active: 'failed', sub: 'failed', file: 'enabled' },
      ...{ result: 'exit-code', status: 'Building the debian base' },
    },
    {
      ...{ name: 'boxyard-front.service', load: 'not-found', active: 'inactive', sub: 'dead', file: '' },
      ...{ result: 'success', status: '' },
    },
  ])
})

describe('the last failure in the log of the agent', () => {
  const fatal = (message: string): string => JSON.stringify({ level: 'error', message, fatal: true })
  const ready = JSON.stringify({ message: 'agent ready', ready: true })
  test.each([
    ['is the last fatal line', [fatal('one'), fatal('two')], 'two'],
    ['is over once the agent served again', [fatal('one'), ready], null],
    ['is none in other lines', ['{"message":"x"}', 'not JSON "fatal":true'], null],
  ])('%s', (_case, lines, expected) => expect(findLastFailure(lines.join('\n'))).toBe(expected))
})

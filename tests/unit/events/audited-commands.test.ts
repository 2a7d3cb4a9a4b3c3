import { expect, test } from '@jest/globals'
import { createAuditTrail } from '../../../agent/core/events/audit-trail.ts'
import { viewEntry } from '../../../agent/handlers/events/view.ts'
import type { AuditRecord } from '../../../agent/ports/store/events.ts'
import { auditMutation, commandIn, LateLine } from '../../../agent/server/audit.ts'
import { newFacts, type RequestFacts } from '../../../agent/server/request-facts.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { operations } from '../../../shared/routes.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const POST = { method: 'POST', target: '/v1/projects/demo/boxes/web/exec', headers: {} }
const BYTES_MAX = 1024

function factsOf(command: readonly string[] | null): RequestFacts {
  return { ...newFacts(POST, 0), operation: operations.createExec, command }
}

function makeDeps() {
  const records: AuditRecord[] = []
  const logged: unknown[] = []
  const clock = { now: () => 0, sleep: async () => undefined }
  const logger = { ...silentLogger, info: (...given: unknown[]) => void logged.push(given) }
  return { records, logged, logger, clock, audit: { add: (record: AuditRecord) => void records.push(record) } }
}

function recorded(command: readonly string[] | null) {
  const deps = makeDeps()
  auditMutation(factsOf(command), 200, deps)
  return viewEntry(deps.records[0] as AuditRecord)
}

test('the command of a request is its program and arguments, without variables and input', () => {
  const query = { wait_seconds: 1 }
  const body = { command: ['env', '-i'], env: { KEY: 'hunter2' }, stdin: 'hunter2' }
  expect(commandIn(operations.createExec, { body, query })).toEqual(['env', '-i'])
  expect(commandIn(operations.createExec, { body: { shell: 'ls | wc' }, query })).toEqual(['/bin/sh', '-c', 'ls | wc'])
  expect(commandIn(operations.streamExec, { query: { command: ['id'], env: ['A=hunter2'] } })).toEqual(['id'])
  expect(commandIn(operations.streamExec, { query: { command: [], start: 'message' } })).toBeNull()
  expect(commandIn(operations.createBox, { body: { command: ['x'] } })).toBeNull()
})

test('a record has the command, the log of the process does not', () => {
  const deps = makeDeps()
  auditMutation(factsOf(['mysql', '-phunter2']), 200, deps)
  expect(deps.records).toMatchObject([{ command: ['mysql', '-phunter2'] }])
  expect(JSON.stringify(deps.logged)).not.toContain('hunter2')
})

test('a command of any length takes at most 1,024 bytes, and says that it was cut', () => {
  expect(recorded(['ls', '-l'])).toMatchObject({ command: ['ls', '-l'], command_truncated: false })
  expect(recorded(null)).toMatchObject({ command: null, command_truncated: false })
  for (const long of [
    ['x'.repeat(200_000)],
    ['sh', '-c', 'ü'.repeat(600)],
    ['echo', ...Array.from({ length: 4000 }, () => 'a')],
    ['echo', ...Array.from({ length: 4000 }, () => '')],
    ['€'.repeat(341), '€€€'],
  ]) {
    const { command, command_truncated: isCut } = recorded(long)
    expect(isCut).toBe(true)
    expect(command?.[0]?.slice(0, 2)).toBe(long[0]?.slice(0, 2))
    const text = command?.join(' ') ?? ''
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(BYTES_MAX)
    expect(Buffer.byteLength(text)).toBeGreaterThan(BYTES_MAX - 10)
    expect(text).not.toContain('\uFFFD')
  }
})

test('a WebSocket whose command comes later has one line, with the command or its refusal', () => {
  const codes = (act: (line: LateLine, facts: RequestFacts) => void) => {
    const deps = makeDeps()
    const facts = { ...factsOf(null), operation: operations.streamExec }
    const line = new LateLine(facts, deps)
    act(line, facts)
    // Close the socket last.
    line.opened()
    return deps.records.map(({ status, command }) => [status, command])
  }
  expect(
    codes((line, facts) => {
      facts.command = ['make']
      line.opened()
    }),
  ).toEqual([[101, ['make']]])
  expect(
    codes((line, facts) => {
      facts.command = ['make']
      line.refused(new ServiceError('box_not_running', 'It is stopped.'))
    }),
  ).toEqual([[409, ['make']]])
  expect(codes(() => undefined)).toEqual([[101, null]])
})

test('a deployment may leave commands out', async () => {
  const kept: AuditRecord[] = []
  const store = {
    audit: { add: async (records: readonly AuditRecord[]) => void kept.push(...records) },
  } as unknown as Parameters<typeof createAuditTrail>[0]['store']
  const clock = { now: () => 0, sleep: async () => undefined }
  const trail = createAuditTrail({ store, clock, logger: silentLogger, keepsCommands: false })
  const deps = { ...makeDeps(), audit: trail }
  auditMutation({ ...factsOf(['id']), caller: null }, 200, deps)
  await trail.flush()
  expect(kept.map(({ command }) => command)).toEqual([null])
})

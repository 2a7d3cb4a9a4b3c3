import { describe, expect, test } from '@jest/globals'
import { eventSentence, withoutSteps } from '../../../web/src/pages/event-words.ts'

type Told = Parameters<typeof withoutSteps>[0][number]

const BOX = '/v1/projects/yard/boxes/web'
const admin = { id: 'tok_1', name: 'admin' }

/** Returns an event, `second` seconds after noon. */
const eventOf = (
  type: string,
  resource: string,
  { data = {}, actor = admin, second = 0 }: Partial<Parts> = {},
): Told => {
  return { type, resource, actor, data, project: 'yard', ts: new Date(NOON + 1000 * second).toISOString() }
}

interface Parts {
  data: Record<string, unknown>
  actor: typeof admin | null
  second: number
}

const NOON = Date.parse('2026-01-01T12:00:00Z')

const textOf = (event: Told): string => Object.values(eventSentence(event)).filter(Boolean).join(' ')

describe('an event', () => {
  test.each([
    ['box.created', BOX, {}, 'admin created yard/web'],
    ['box.created', BOX, { fork_of: 'base' }, 'admin created yard/web as a fork of base'],
    ['box.updated', BOX, { fields: ['config', 'tags'] }, 'admin changed yard/web (size, tags)'],
    [
      'data.attached',
      '/v1/projects/yard/data/db',
      { box: 'web', path: '/db' },
      'admin attached volume yard/db to web at /db',
    ],
    ['snapshot.created', `${BOX}/snapshots/v1`, {}, 'admin took snapshot yard/web@v1'],
    ['service.promoted', `${BOX}/services/site`, {}, 'admin promoted site in yard/web'],
    [
      'service.process_ended',
      `${BOX}/services/site`,
      { exit_code: 3 },
      'admin saw a process end of site in yard/web (exit code 3)',
    ],
    ['token.created', '/v1/tokens/tok_2', { name: 'ci' }, 'admin created token ci'],
    ['quota.updated', '/v1/projects/yard/quota', {}, 'admin changed the quota of yard'],
    ['base.deleted', '/v1/bases/debian', {}, 'admin deleted base debian'],
    ['box.painted_red', BOX, {}, 'admin painted red (box) yard/web'],
  ])('of %s is a sentence', (type, resource, data, sentence) => {
    expect(textOf(eventOf(type, resource, { data }))).toBe(sentence)
  })

  test('that no token caused is from Boxyard', () => {
    expect(textOf(eventOf('box.stopped', BOX, { actor: null, data: { reason: 'idle' } }))).toBe(
      'Boxyard stopped yard/web (idle)',
    )
  })
})

describe('steps of another event', () => {
  test('are left out, and changes without a request stay', () => {
    const events = [
      eventOf('box.stopped', BOX, { second: 400, data: { reason: 'idle' }, actor: null }),
      eventOf('box.stopped', BOX, { second: 22 }),
      eventOf('box.pending', BOX, { second: 21 }),
      eventOf('box.stop_requested', BOX, { second: 20 }),
      eventOf('box.running', BOX, { second: 1 }),
      eventOf('box.created', BOX),
    ]
    expect(withoutSteps(events).map(({ type }) => type)).toEqual(['box.stopped', 'box.stop_requested', 'box.created'])
  })
})

import { expect, test } from '@jest/globals'
import { createTickets } from '../../../agent/core/access/tickets.ts'
import type { Reply } from '../../../agent/handlers/common/call.ts'
import { jsonOrRedirect, type LongCall } from '../../../agent/handlers/common/data-address-redirect.ts'
import { CALLER } from '../../helpers/caller.ts'

const request = {
  operationId: 'listFiles',
  target: '/v1/projects/demo/boxes/web/files/list?path=/srv',
  isPlaced: false,
  receivedAt: 0,
}
const call: LongCall = { caller: CALLER, request, boundBoxId: null, answerBytesMax: 9 }
const tickets = createTickets({ clock: { now: Date.now, sleep: () => Promise.resolve() } })
const deps = { tickets, dataUrl: 'https://data.example' }

function replyTo(given: Partial<LongCall>, text: string): Reply {
  return jsonOrRedirect(deps, { call: { ...call, ...given }, boxId: 'box_0' }, Buffer.from(text))
}

test('an answer within the limit is passed on', () => {
  const bytes = Buffer.from('[1,2,3,4]')
  expect(replyTo({}, '[1,2,3,4]')).toEqual({ body: null, bytes, headers: { 'content-type': 'application/json' } })
})

test('a longer answer is a redirect with a ticket for the same request', () => {
  const reply = replyTo({}, '[1,2,3,4 ]')
  expect([reply.status, reply.body, reply.bytes]).toEqual([307, null, undefined])
  const location = reply.headers?.['location'] ?? ''
  expect(location).toMatch(/^https:\/\/data\.example\/v1\/projects\/demo\/boxes\/web\/files\/list\?path=\/srv&ticket=/)
  expect(tickets.check(location.split('ticket=')[1] ?? '', request).boxId).toBe('box_0')
})

test.each<[string, Partial<LongCall>]>([
  ['can carry any', { answerBytesMax: null }],
  ['has a ticket', { boundBoxId: 'box_0' }],
])('a client that %s is answered at any length', (_who, given) => {
  const reply = replyTo(given, '[1,2,3,4 ]')
  expect([reply.status, reply.bytes]).toEqual([undefined, Buffer.from('[1,2,3,4 ]')])
})

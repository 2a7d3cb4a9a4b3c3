import { beforeEach, describe, expect, test } from '@jest/globals'
import { createTickets, type TicketGrant, type Tickets } from '../../../agent/core/access/tickets.ts'
import { addTicket, cellOfLink, loggedTarget, splitTicket } from '../../../shared/auth/ticket-target.ts'
import { CALLER as caller } from '../../helpers/caller.ts'

const START = 1_800_000_000_000
const grant: TicketGrant = {
  operationId: 'streamExec',
  target: '/v1/projects/demo/boxes/web/exec/ws?command=id',
  boxId: 'box_00000000000000000000000000',
  caller,
}
let now = START
let tickets: Tickets

beforeEach(() => {
  now = START
  tickets = createTickets({ clock: { now: () => now, sleep: () => Promise.resolve() } })
})

const code = (expected: string) => expect.objectContaining({ code: expected })
const check = (ticket: string, changed: Partial<TicketGrant> = {}) =>
  tickets.check(ticket, { operationId: grant.operationId, target: grant.target, ...changed })

describe('the ticket of a sign-in link', () => {
  const link: TicketGrant = { operationId: 'signIn', target: '/v1/session', boxId: null, caller, kind: 'link' }
  const checkLink = (ticket: string) => tickets.check(ticket, { operationId: 'signIn', target: '/v1/session' })

  test('is good once, for ten minutes, in the name of the caller for as long as that is', () => {
    const { ticket, expiresAt } = tickets.issue(link)
    expect(expiresAt).toBe(START + 600_000)
    now = START + 599_999
    expect(checkLink(ticket)).toEqual({ boxId: null, execId: null, caller })
    tickets.take(ticket)
    expect(() => checkLink(ticket)).toThrow(code('token_invalid'))
  })

  test('expires, also while it is taken and given back', () => {
    const { ticket } = tickets.issue(link)
    tickets.take(ticket)()
    now = START + 600_000
    expect(() => checkLink(ticket)).toThrow(code('token_expired'))
  })

  test('keeps no ticket that was issued after it', () => {
    tickets.issue(link)
    const { ticket: expired } = tickets.issue(grant)
    now = START + 120_000
    tickets.issue(link)
    expect(() => check(expired)).toThrow(code('token_invalid'))
  })

  test('tells the cell of a fleet that has it', () => {
    const ofCell = createTickets({ clock: { now: () => now, sleep: () => Promise.resolve() }, cell: 'a7' })
    const { ticket } = ofCell.issue(link)
    expect([cellOfLink(ticket), ticket]).toEqual(['a7', expect.stringMatching(/^a7\.[\w-]{43}$/)])
    expect(ofCell.check(ticket, { operationId: 'signIn', target: '/v1/session' })).toMatchObject({ caller })
    expect(cellOfLink(ofCell.issue(grant).ticket)).toBeNull()
  })
})

describe('a ticket', () => {
  test('is good once, for 60 s', () => {
    const { ticket, expiresAt, execId } = tickets.issue(grant)
    expect(expiresAt).toBe(START + 60_000)
    expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/)
    now = START + 59_999
    // The caller's rights end when the ticket would have expired.
    expect(check(ticket)).toEqual({ boxId: grant.boxId, execId, caller: { ...caller, expiresAt } })
    tickets.take(ticket)
    expect(() => check(ticket)).toThrow(code('token_invalid'))
  })

  test('is taken by the first of several that checked it, and by another once returned', () => {
    const { ticket } = tickets.issue(grant)
    expect([check(ticket), check(ticket)]).toHaveLength(2)
    const giveBack = tickets.take(ticket)
    expect(() => tickets.take(ticket)).toThrow(code('token_invalid'))
    now = START + 59_000
    giveBack()
    tickets.take(ticket)()
    now = START + 60_000
    expect(() => check(ticket)).toThrow(code('token_expired'))
  })

  test('expires, is refused as expired for a while, and is then forgotten', () => {
    const { ticket: late } = tickets.issue(grant)
    const { ticket: later } = tickets.issue(grant)
    now = START + 60_000
    expect(() => check(late)).toThrow(code('token_expired'))
    now = START + 120_000
    tickets.issue(grant)
    expect(() => check(later)).toThrow(code('token_invalid'))
  })

  test('ends with the token that it was issued to', () => {
    const { ticket, expiresAt } = tickets.issue({ ...grant, caller: { ...caller, expiresAt: START + 5_000 } })
    expect(expiresAt).toBe(START + 5_000)
    now = START + 5_000
    expect(() => check(ticket)).toThrow(code('token_expired'))
  })

  test.each<[string, Partial<TicketGrant>]>([
    ['operation', { operationId: 'openConsole' }],
    ['target', { target: `${grant.target}&tty=true` }],
  ])('is used up by another %s', (_what, changed) => {
    const { ticket } = tickets.issue(grant)
    expect(() => check(ticket, changed)).toThrow(code('token_invalid'))
    expect(() => check(ticket)).toThrow(code('token_invalid'))
  })

  test('leaves other projects and tokens theirs of 10,000, and counts until it is used or a minute after its end', () => {
    const issueAll = (...accounts: string[]): number => {
      for (let issued = 0; ; issued++) {
        try {
          tickets.issue({ ...grant, caller: { ...caller, tokenId: `tok_${issued % 11}`, accounts } })
        } catch (error) {
          expect(error).toMatchObject({ code: 'rate_limited' })
          return issued
        }
      }
    }
    expect([issueAll('project a', 'token a'), issueAll('project b', 'token b')]).toEqual([5_000, 2_500])
    now = START + 119_999
    expect(issueAll('project a', 'token c')).toBe(0)
    now = START + 120_000
    const { ticket } = tickets.issue({ ...grant, caller: { ...caller, accounts: ['project a'] } })
    expect(issueAll('project a')).toBe(4_999)
    tickets.take(ticket)
    expect(issueAll('project a')).toBe(1)
  })

  test('cannot be guessed', () => {
    tickets.issue(grant)
    for (const made of ['', 'x', 'A'.repeat(43)]) expect(() => check(made)).toThrow(code('token_invalid'))
  })
})

describe('a target', () => {
  test.each([
    ['/a', null, '/a'],
    ['/a?b=1', null, '/a?b=1'],
    ['/a?ticket=t', 't', '/a'],
    ['/a?b=1&ticket=t&c=%20', 't', '/a?b=1&c=%20'],
    ['/a?ticket=t&ticket=u', 't', '/a'],
    ['/a?ticket=', '', '/a'],
    ['/a?tickets=1', null, '/a?tickets=1'],
  ])('of %s has its ticket split off', (given, ticket, target) => {
    expect(splitTicket(given)).toEqual({ target, ticket })
  })

  test('gets its ticket with and without a query', () => {
    expect([addTicket('/a', 't'), addTicket('/a?b=1', 't')]).toEqual(['/a?ticket=t', '/a?b=1&ticket=t'])
  })

  test('is logged without ticket and command line', () => {
    expect(loggedTarget('/a?b=1&ticket=t', null)).toBe('/a?b=1')
    expect(loggedTarget('/a?b=1&ticket=t', { transport: 'http' })).toBe('/a?b=1')
    expect(loggedTarget('/a?command=secret', { transport: 'websocket' })).toBe('/a')
  })
})

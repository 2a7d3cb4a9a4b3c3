import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { tokenKeyId } from '../../shared/auth/tokens.ts'
import { followEvents } from '../helpers/event-stream.ts'
import { eventually } from '../helpers/eventually.ts'
import { armStep, at, hasDied, restartAgent } from '../helpers/fault-steps.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import type { Answer } from '../helpers/front/client.ts'
import { until } from '../helpers/pods/weather.ts'

// Tokens and keys over three real cells that started at the same time.

let fleet: FleetOfTests
let [aa, bb, cc]: CellOfTests[] = []

beforeAll(async () => {
  fleet = await startFleet(undefined, {}, { agentScript: 'tests/fixtures/faulty-agent.ts' })
  ;[aa, bb, cc] = fleet.cells
})

afterAll(() => fleet?.close())

const cellOf = (cell: CellOfTests | undefined): CellOfTests => {
  if (cell === undefined) throw new Error('There is no such cell.')
  return cell
}

/** Creates a token at a cell, with its admin token or another. */
async function mint(cell: CellOfTests | undefined, token?: string): Promise<{ id: string; token: string }> {
  // A token created with another expires with it. An explicit lifetime from a later second would exceed the other's.
  const life = token === undefined ? { expires_in_seconds: 3_600 } : {}
  const body = { name: 'ci', projects: ['demo'], permissions: ['read', 'write'], ...life }
  const answer = await cellOf(cell).client.post('/v1/tokens', body, token === undefined ? {} : { token })
  expect([answer.status, answer.body?.detail]).toEqual([201, undefined])
  return { id: answer.body.id, token: answer.body.token }
}

const revoke = async (cell: CellOfTests | undefined, id: string): Promise<number> =>
  (await cellOf(cell).client.delete(`/v1/tokens/${id}`)).status

/** Returns the parts of a sign-in response that a page and its browser keep. */
const halvesOf = ({ headers, body }: Answer): Record<string, string> => ({
  'x-boxyard-session': body.session,
  cookie: String(headers['set-cookie']).split(';', 1)[0] ?? '',
})

/** Returns the response of each entry point to a token. */
const answersTo = (token: string): Promise<string[]> =>
  Promise.all(
    fleet.cells.map(async ({ client }) => {
      const { status, body } = await client.get('/v1/me', { token })
      return `${status} ${String(body?.code ?? body?.id)}`
    }),
  )

const everywhere = (answer: string): string[] => fleet.cells.map(() => answer)
const refusedEverywhere = (token: string): Promise<unknown> =>
  until(
    async () => (await answersTo(token)).every((answer) => answer === '401 token_revoked'),
    'it is refused at all doors',
  )

const keysOf = ({ service }: CellOfTests, file: string): string =>
  readFileSync(join(service.dataDir, 'keys', file), 'utf8')

test('cells that start at once have the keys of the first of them', () => {
  for (const file of ['channel.json', 'token-private.json', 'token-public.json'])
    expect(new Set(fleet.cells.map((cell) => keysOf(cell, file))).size).toBe(1)
})

test('what a token has opened through any door ends when it is revoked at another', async () => {
  const { id, token } = await mint(aa)
  const events = fleet.cells.map(({ service }) => `${service.url}/v1/projects/demo/events?since=now`)
  const streams = await Promise.all(events.map((url) => followEvents(url, { authorization: `Bearer ${token}` })))
  expect(await revoke(bb, id)).toBe(204)
  await until(async () => streams.every((stream) => stream.text().includes('"token_revoked"')), 'all are over')
})

test('a sign-in link is used at any door, once, and the session is good at all', async () => {
  const { ticket } = (await cellOf(aa).client.post('/v1/session/links')).body
  const path = `/v1/session?ticket=${ticket}`
  for (const { client } of fleet.cells) {
    const read = await client.get('/v1/session/links', { token: null, headers: { 'x-boxyard-link': ticket } })
    expect([read.status, read.body.token?.name]).toEqual([200, 'admin'])
  }
  const begun = await cellOf(bb).client.post(path, undefined, { token: null })
  expect([begun.status, begun.body?.detail]).toEqual([201, undefined])
  for (const { client } of fleet.cells) {
    expect((await client.post(path, undefined, { token: null })).body).toMatchObject({ code: 'token_invalid' })
    await until(
      async () =>
        (await client.get('/v1/me', { token: null, headers: halvesOf(begun) })).body.id === begun.body.token.id,
      'the session is good at each door',
    )
  }
  expect((await cellOf(cc).client.delete('/v1/session', { token: null, headers: halvesOf(begun) })).status).toBe(204)
  const after = await cellOf(cc).client.get('/v1/me', { token: null, headers: halvesOf(begun) })
  expect(after.body).toMatchObject({ code: 'token_revoked' })
})

test("every cell's admin.token works at every door", async () => {
  const tokens = fleet.cells.map(({ service }) => service.adminToken)
  expect(new Set(tokens).size).toBe(3)
  for (const token of tokens) for (const answer of await answersTo(token)) expect(answer).toMatch(/^200 tok_/)
})

describe('a token', () => {
  test('that one cell has minted works at every door, and is listed by each', async () => {
    const { id, token } = await mint(aa)
    expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
    for (const { client } of fleet.cells) {
      const { body } = await client.get('/v1/tokens?max_results=1000')
      expect(body.tokens.map((each: { id: string }) => each.id)).toContain(id)
    }
  })

  test('that one cell revokes is refused at every door, with those that were minted with it at others', async () => {
    const top = await mint(aa)
    const child = await mint(bb, top.token)
    const grandchild = await mint(cc, child.token)
    const other = await mint(bb)
    expect(await revoke(cc, top.id)).toBe(204)
    for (const { token } of [top, child, grandchild]) await refusedEverywhere(token)
    expect(await answersTo(other.token)).toEqual(everywhere(`200 ${other.id}`))
    const shown = fleet.plane.kubectl('-n', 'boxyard', 'get', 'revocations', '-o', 'name').stdout
    expect(shown).toContain(top.id.replace('_', '-'))
    expect(shown).not.toContain(child.id.replace('_', '-'))
  })

  test('revoked while a cell is killed is refused by its first answer, and one minted meanwhile is not', async () => {
    const { id, token } = await mint(bb)
    await cellOf(bb).service.killAgent()
    expect(await revoke(aa, id)).toBe(204)
    const later = await mint(cc)
    await cellOf(bb).service.startAgent()
    expect(await answersTo(token)).toEqual(everywhere('401 token_revoked'))
    expect(await answersTo(later.token)).toEqual(everywhere(`200 ${later.id}`))
  })
})

describe('an agent that is killed', () => {
  // Kills the agent before it publishes the token, before it records the token, and before it answers.
  test.each([
    [at('store.tokens.hasRoom', 'after'), 0],
    [at('store.tokens.insert', 'before'), 1],
    [at('store.tokens.insert', 'after'), 1],
  ])('while it mints, at %s, leaves what all cells know, or none', async (step, count) => {
    const { client, service } = cellOf(cc)
    const before = await listedAt(aa)
    await armStep(service, step)
    const body = { name: 'cut', projects: ['demo'], permissions: ['read'] }
    expect((await client.post('/v1/tokens', body)).status).toBeGreaterThanOrEqual(500)
    expect(await hasDied(service.agentPid)).toBe(true)
    await restartAgent(service, 'SIGKILL')
    const lists = await Promise.all([aa, bb, cc].map(listedAt))
    expect(lists[1]).toEqual(lists[0])
    expect(lists[2]).toEqual(lists[0])
    expect((lists[0]?.length ?? 0) - before.length).toBe(count)
  })

  // Kills the agent before it publishes the revocation, before it records the revocation, and before it answers.
  test.each([
    [at('store.tokens.lastExpiry', 'after'), false],
    [at('store.tokens.revoke', 'before'), true],
    [at('store.tokens.revoke', 'after'), true],
  ])('while it revokes, at %s, has revoked it everywhere or nowhere', async (step, isRevoked) => {
    const { client, service } = cellOf(cc)
    const { id, token } = await mint(bb)
    expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
    await armStep(service, step)
    expect((await client.delete(`/v1/tokens/${id}`)).status).toBeGreaterThanOrEqual(500)
    expect(await hasDied(service.agentPid)).toBe(true)
    await restartAgent(service, 'SIGKILL')
    expect((await client.get('/v1/me', { token })).status).toBe(isRevoked ? 401 : 200)
    if (isRevoked) await refusedEverywhere(token)
    else expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
  })
})

const listedAt = async (cell: CellOfTests | undefined): Promise<string[]> =>
  (await cellOf(cell).client.get('/v1/tokens?max_results=1000')).body.tokens.map(({ id }: { id: string }) => id)

describe('while the API server is away', () => {
  test('tokens work at all doors, those of a cell that starts too; none is minted or revoked until it is back', async () => {
    const { id, token } = await mint(aa)
    expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
    await fleet.plane.stopServer()
    await cellOf(cc).service.killAgent()
    await cellOf(cc).service.startAgent()
    expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
    const body = { name: 'late', projects: ['demo'], permissions: ['read'] }
    const refused = await cellOf(bb).client.post('/v1/tokens', body)
    expect([refused.status, refused.body.code, await revoke(bb, id)]).toEqual([503, 'runtime_unavailable', 503])
    expect(await answersTo(token)).toEqual(everywhere(`200 ${id}`))
    await fleet.plane.startServer()
    await until(async () => (await revoke(bb, id)) === 204, 'it is revoked')
    await refusedEverywhere(token)
  })

  test('an etcd that is put back to the past forgets no token and no revocation', async () => {
    const dead = await mint(bb)
    await fleet.plane.stopServer()
    await fleet.plane.save()
    await fleet.plane.startServer()
    const later = await until(() => mint(aa).catch(() => null), 'one is minted')
    await until(async () => (await revoke(cc, dead.id)) === 204, 'one is revoked')
    expect(await answersTo(later.token)).toEqual(everywhere(`200 ${later.id}`))
    await refusedEverywhere(dead.token)
    await fleet.plane.stopServer()
    await fleet.plane.restore()
    await fleet.plane.startServer()
    const names = (kind: string): string => fleet.plane.kubectl('-n', 'boxyard', 'get', kind, '-o', 'name').stdout
    await until(() => names('bxtoken').includes(later.id.replace('_', '-')), 'the token is there again')
    await until(() => names('bxrevocation').includes(dead.id.replace('_', '-')), 'the revocation is there again')
    expect(await answersTo(later.token)).toEqual(everywhere(`200 ${later.id}`))
    expect(await answersTo(dead.token)).toEqual(everywhere('401 token_revoked'))
  })
})

describe('keys', () => {
  test('that are rotated and dropped at one cell are followed by all, and no request is refused', async () => {
    const load = startLoad()
    const rotate = async (kind: string): Promise<void> => {
      await cellOf(bb).service.runAgentMode('keys', 'rotate', kind)
      await until(() => {
        const file = kind === 'token' ? 'token-private.json' : 'channel.json'
        return new Set(fleet.cells.map((cell) => keysOf(cell, file))).size === 1
      }, 'all have the keys')
    }
    try {
      await rotate('token')
      await rotate('channel')
      const { kid } = JSON.parse(keysOf(cellOf(cc), 'token-private.json')).keys[0]
      await until(
        () => fleet.cells.every(({ service }) => tokenKeyId(service.adminToken) === kid),
        'every admin.token is signed anew',
      )
      const dropped = (): Promise<boolean> =>
        cellOf(cc)
          .service.runAgentMode('keys', 'drop-old', 'token', '--force')
          .then(() => true)
      expect(await dropped()).toBe(true)
      await until(
        () => fleet.cells.every((cell) => JSON.parse(keysOf(cell, 'token-public.json')).keys.length === 1),
        'all',
      )
    } finally {
      await load.end()
    }
    expect(load.faults).toEqual([])
    expect(load.rounds).toBeGreaterThan(10)
  })

  test('prepared on the host while an agent is down come to it when it starts', async () => {
    await cellOf(aa).service.killAgent()
    await cellOf(bb).service.runAgentMode('keys', 'prepare', 'token')
    const wanted = keysOf(cellOf(bb), 'token-private.json')
    expect(keysOf(cellOf(aa), 'token-private.json')).not.toBe(wanted)
    await cellOf(aa).service.startAgent()
    expect(keysOf(cellOf(aa), 'token-private.json')).toBe(wanted)
  })

  test('and tokens of the host: one that a command mints works everywhere', async () => {
    const printed = await cellOf(aa).service.runAgentMode('token', '--name', 'host')
    const token = printed.trim().split('\n').at(-1) ?? ''
    await eventually(async () => (await answersTo(token)).every((answer) => answer.startsWith('200')), 10)
  })
})

/** Creates tokens at one entry point after the other, and uses each at all of them at once, until `end`. */
function startLoad(): { faults: string[]; rounds: number; end(): Promise<void> } {
  const load = { faults: [] as string[], rounds: 0, end: async () => undefined as void }
  let isEnding = false
  const note = (what: string, { status, body }: { status: number; body: { code?: string } }): void => {
    if (status >= 300) load.faults.push(`${what}: ${status} ${String(body?.code)}`)
  }
  const run = async (): Promise<void> => {
    for (; !isEnding; load.rounds++) {
      const { client, cell } = cellOf(fleet.cells[load.rounds % fleet.cells.length])
      const minted = await client.post('/v1/tokens', { name: 'load', projects: ['demo'], permissions: ['read'] })
      note(`minted at ${cell}`, minted)
      if (minted.status !== 201) continue
      await Promise.all(
        fleet.cells.map(async (door) =>
          note(
            `of ${cell} at ${door.cell}`,
            await door.client.get('/v1/projects/demo/boxes', { token: minted.body.token }),
          ),
        ),
      )
    }
  }
  const running = run()
  load.end = async () => {
    isEnding = true
    await running
  }
  return load
}

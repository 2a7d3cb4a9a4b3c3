import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { markLink } from '../../../shared/auth/ticket-target.ts'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { newIdOfCell } from '../../../shared/ids.ts'
import { CELLS, type CellName, type FakeCells, startFakeCells } from '../../helpers/fleet/fake-cells.ts'
import { jsonOf } from '../../helpers/front/test-front.ts'

let cells: FakeCells
beforeEach(async () => {
  cells = await startFakeCells()
})
afterEach(() => cells.close())

/** Makes each cell answer as given. A cell that is `away` does not answer. */
async function script(answers: Record<CellName, HttpResponse | 'away'>): Promise<void> {
  for (const cell of CELLS) {
    const answer = answers[cell]
    if (answer === 'away') await cells.agents[cell].close()
    else cells.agents[cell].respond = () => answer
  }
}
const asked = (target: string): string[] =>
  CELLS.filter((cell) => cells.agents[cell].seen.some((seen) => seen.target === target))

describe('an operation', () => {
  const OPERATION = newIdOfCell('opr', 1_000, 'bb')
  const target = `/v1/operations/${OPERATION}`

  test('is asked of the cell whose number its id has, through any door', async () => {
    for (const cell of CELLS) {
      cells.openDoor(cell)
      expect(jsonOf(await cells.ask(target))).toEqual({ answered_by: 'bb' })
    }
    expect(cells.agents.aa.seen.concat(cells.agents.cc.seen).filter((seen) => seen.target === target)).toEqual([])
  })

  test('of no cell is this one to answer, and one whose cell is away is not told of', async () => {
    const missing = `/v1/operations/${newIdOfCell('opr', 1_000, 'zz')}`
    cells.agents.aa.respond = () => jsonResponse(404, { code: 'operation_not_found' })
    expect((await cells.ask(missing)).status).toBe(404)
    expect(asked(missing)).toEqual(['aa'])
    await cells.agents.bb.close()
    const response = await cells.ask(target)
    expect([response.status, jsonOf(response)['code']]).toEqual([503, 'agent_unavailable'])
    expect(jsonOf(response)['detail']).toContain('cell bb')
  })
})

describe('a sign-in', () => {
  test('by a link is asked of the cell that has made it, and by a token of none other', async () => {
    const target = `/v1/session?ticket=${markLink('x'.repeat(43), 'bb')}`
    expect(jsonOf(await cells.ask(target, 'POST'))).toEqual({ answered_by: 'bb' })
    expect(asked(target)).toEqual(['bb'])
    for (const own of [
      `/v1/session?ticket=${'x'.repeat(43)}`,
      '/v1/session',
      `/v1/session?ticket=${markLink('x', 'zz')}`,
    ]) {
      expect(jsonOf(await cells.ask(own, 'POST'))).toEqual({ answered_by: 'aa' })
      expect(asked(own)).toEqual(['aa'])
    }
  })
})

describe('a quota', () => {
  const QUOTA = '/v1/projects/demo/quota'
  const quota = (boxes: number, cpus: number, updated: string | null = null): HttpResponse =>
    jsonResponse(
      200,
      {
        project: 'demo',
        allowed: { boxes: 9, cpus: null, ram_mb: null, storage_gb: null },
        used: { boxes, cpus, ram_mb: 64 * boxes, storage_gb: boxes / 10, stored_bytes: 10 * boxes },
        updated_at: updated,
      },
      { etag: '"3"' },
    )

  test('has the use of all cells', async () => {
    await script({ aa: quota(1, 0.1), bb: quota(2, 0.2), cc: quota(0, 0) })
    const response = await cells.ask(QUOTA)
    expect(jsonOf(response)).toMatchObject({
      allowed: { boxes: 9 },
      used: { boxes: 3, cpus: 0.3, ram_mb: 192, storage_gb: 0.3, stored_bytes: 30 },
    })
    expect(response.headers['etag']).toBe('"3"')
  })

  test('that was set at some cells only is told as it was set last, at any door', async () => {
    const [early, late] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
    await script({ aa: quota(1, 1, early), bb: quota(1, 1, late), cc: quota(1, 1) })
    expect(jsonOf(await cells.ask(QUOTA))['updated_at']).toBe(late)
  })

  test('has no figures while a cell is away', async () => {
    await script({ aa: quota(1, 1), bb: quota(1, 1), cc: 'away' })
    const response = await cells.ask(QUOTA)
    expect([response.status, jsonOf(response)['code']]).toEqual([503, 'agent_unavailable'])
    expect(jsonOf(response)['detail']).toContain('cell cc')
  })

  test('is set at all cells, with the body as it came', async () => {
    await script({ aa: quota(1, 1), bb: quota(1, 1), cc: quota(1, 1) })
    const response = await cells.ask(QUOTA, 'PUT', { allowed: { boxes: 9 } })
    expect([response.status, jsonOf(response)['used']]).toMatchObject([200, { boxes: 3 }])
    for (const cell of CELLS) expect(cells.agents[cell].seen.at(-1)?.body.toString()).toBe('{"allowed":{"boxes":9}}')
  })

  test('that did not reach a cell says so, and one that is refused here reaches none', async () => {
    await script({ aa: quota(1, 1), bb: jsonResponse(412, { code: 'precondition_failed' }), cc: 'away' })
    const response = await cells.ask(QUOTA, 'PUT', { allowed: null })
    expect(response.status).toBe(503)
    expect(jsonOf(response)['detail']).toBe('The quota is set at cell aa, and not at cells bb, cc: send it again.')
    const before = cells.agents.bb.seen.length
    cells.agents.aa.respond = () => jsonResponse(412, { code: 'precondition_failed' })
    expect((await cells.ask(QUOTA, 'PUT', { allowed: null })).status).toBe(412)
    expect(cells.agents.bb.seen.length).toBe(before)
  })
})

describe('storage', () => {
  const scrub = (status: string, started: string, ended: string | null, errors = 0) => ({
    ...{ status, started_at: started, ended_at: ended, checked_bytes: 10, errors },
  })
  const report = (cell: string, pool: object | null, more: object = {}): HttpResponse =>
    jsonResponse(200, {
      pool,
      boxes: [{ project: 'demo', name: `of-${cell}`, size_bytes: 1, unique_bytes: null, snapshots: [] }],
      volumes: [],
      bases: [{ project: null, name: 'busybox', size_bytes: 1, unique_bytes: 1 }],
      projects: [{ project: 'demo', stored_bytes: 7 }],
      orphans: [],
      deleting: pool === null ? null : 2,
      scrub: null,
      ...more,
    })
  const pool = (used: number, reads = 0) => ({
    total_bytes: 100,
    used_bytes: used,
    available_bytes: 100 - used,
    data: { total_bytes: 50, used_bytes: used },
    metadata: { total_bytes: 5, used_bytes: 1 },
    device_errors: { reads },
  })

  test('is that of all pools, and of each', async () => {
    const done = scrub('done', '2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z', 1)
    await script({
      aa: report('aa', pool(10), { scrub: done }),
      bb: report('bb', pool(20, 3)),
      cc: report('cc', pool(30)),
    })
    const told = jsonOf(await cells.ask('/v1/storage'))
    expect(told['pool']).toEqual({
      total_bytes: 300,
      used_bytes: 60,
      available_bytes: 240,
      data: { total_bytes: 150, used_bytes: 60 },
      metadata: { total_bytes: 15, used_bytes: 3 },
      device_errors: { reads: 3 },
    })
    expect((told['boxes'] as { name: string }[]).map(({ name }) => name)).toEqual(['of-aa', 'of-bb', 'of-cc'])
    expect([told['deleting'], told['scrub']]).toEqual([6, done])
    expect(told['projects']).toEqual([{ project: 'demo', stored_bytes: 21 }])
    expect(told['cells']).toEqual([
      { cell: 'aa', pool: pool(10), deleting: 2, scrub: done },
      { cell: 'bb', pool: pool(20, 3), deleting: 2, scrub: null },
      { cell: 'cc', pool: pool(30), deleting: 2, scrub: null },
    ])
  })

  test('tells who may not know of pools nothing of them', async () => {
    await script({ aa: report('aa', null), bb: report('bb', null), cc: report('cc', null) })
    const told = jsonOf(await cells.ask('/v1/storage'))
    expect([told['pool'], told['deleting'], told['scrub'], 'cells' in told]).toEqual([null, null, null, false])
    expect(told['boxes']).toHaveLength(3)
  })

  test('is not told while a cell is away', async () => {
    await script({ aa: report('aa', pool(1)), bb: 'away', cc: report('cc', pool(1)) })
    expect(jsonOf(await cells.ask('/v1/storage'))).toMatchObject({ status: 503, code: 'agent_unavailable' })
  })

  test('is scrubbed at all cells, until the last has ended', async () => {
    await script({
      aa: jsonResponse(200, scrub('done', '2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z', 1)),
      bb: jsonResponse(200, scrub('running', '2026-01-02T00:00:00.000Z', null)),
      cc: jsonResponse(200, scrub('failed', '2026-01-03T00:00:00.000Z', '2026-01-03T00:00:00.000Z', 2)),
    })
    const told = jsonOf(await cells.ask('/v1/storage/scrub', 'POST'))
    expect(told).toEqual({
      status: 'running',
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: null,
      checked_bytes: 30,
      errors: 3,
    })
    expect(asked('/v1/storage/scrub')).toEqual(['aa', 'bb', 'cc'])
  })
})

describe('a base', () => {
  const BASE = '/v1/projects/demo/bases/mine'
  const NONE = jsonResponse(404, { code: 'base_not_found' })
  const base = (id: string, project: string | null, users: string[] = []): HttpResponse =>
    jsonResponse(
      200,
      {
        id,
        project,
        name: 'mine',
        used_by: { boxes: users.map((name) => ({ project: 'demo', name })), count: users.length },
      },
      { etag: `"${id}"` },
    )

  test('is made at the cell of its box, of bytes here, and of an image too', async () => {
    const bases = '/v1/projects/demo/bases'
    cells.fleet.homes.set('box demo/web', 'cc')
    const made = await cells.ask(bases, 'POST', { name: 'mine', box: 'web' })
    expect(jsonOf(made)).toEqual({ answered_by: 'cc' })
    expect(cells.agents.cc.seen.at(-1)?.body.toString()).toBe('{"name":"mine","box":"web"}')
    for (const body of [
      { name: 'mine', box: 'nobodys' },
      { name: 'mine', image: 'debian:12' },
    ])
      expect(jsonOf(await cells.ask(bases, 'POST', body))).toEqual({ answered_by: 'aa' })
    await cells.agents.cc.close()
    expect((await cells.ask(bases, 'POST', { name: 'mine', box: 'web' })).status).toBe(503)
  })

  test('is found at whichever cell has it', async () => {
    await script({ aa: NONE, bb: NONE, cc: base('bas_1', 'demo', ['web']) })
    const response = await cells.ask(BASE)
    expect(jsonOf(response)).toMatchObject({ id: 'bas_1', used_by: { count: 1 } })
    expect(response.headers['etag']).toBe('"bas_1"')
  })

  test("is the project's own before a shared one, with who uses it at all cells", async () => {
    await script({ aa: base('bas_s', null), bb: base('bas_1', 'demo', ['a']), cc: base('bas_1', 'demo', ['b']) })
    const told = jsonOf(await cells.ask(BASE))
    expect(told).toMatchObject({ id: 'bas_1', used_by: { boxes: [{ name: 'a' }, { name: 'b' }], count: 2 } })
  })

  test('is told without its users while a cell is away, and not at all where that may have it', async () => {
    await script({ aa: base('bas_1', 'demo', ['a']), bb: 'away', cc: NONE })
    expect(jsonOf(await cells.ask(BASE))).toMatchObject({ id: 'bas_1', used_by: null })
    cells.agents.aa.respond = () => NONE
    expect(jsonOf(await cells.ask(BASE))).toMatchObject({ status: 503, code: 'agent_unavailable' })
  })

  test('that nobody has is not found, as this cell says', async () => {
    await script({ aa: NONE, bb: NONE, cc: NONE })
    expect(jsonOf(await cells.ask(BASE))).toEqual({ code: 'base_not_found' })
    expect((await cells.ask(BASE, 'DELETE')).status).toBe(404)
  })

  test('is deleted wherever it is', async () => {
    const gone = (count: string): HttpResponse => ({ status: 204, headers: { 'x-used-by-count': count }, body: null })
    await script({ aa: NONE, bb: gone('2'), cc: gone('1') })
    const response = await cells.ask(BASE, 'DELETE')
    expect([response.status, response.headers['x-used-by-count']]).toEqual([204, '3'])
    cells.agents.aa.respond = () => jsonResponse(403, { code: 'permission_denied' })
    const before = cells.agents.bb.seen.length
    expect((await cells.ask(BASE, 'DELETE')).status).toBe(403)
    expect(cells.agents.bb.seen.length).toBe(before)
  })

  test.each(CELLS)('that %s made is deleted after all others have told of their copies', async (maker) => {
    const [one, other] = CELLS.filter((cell) => cell !== maker)
    const copied = jsonResponse(404, { code: 'base_not_found' }, { 'x-used-by-count': '2' })
    const order: string[] = []
    for (const cell of CELLS)
      cells.agents[cell].respond = () => {
        order.push(cell)
        return cell === maker ? { status: 204, headers: { 'x-used-by-count': '1' }, body: null } : copied
      }
    cells.fleet.makers.set('mine', maker)
    const response = await cells.ask(BASE, 'DELETE')
    expect([response.status, response.headers['x-used-by-count']]).toEqual([204, '5'])
    expect([order.at(-1), new Set(order.slice(0, 2))]).toEqual([maker, new Set([one, other])])
    await script({ aa: copied, bb: copied, cc: copied })
    expect((await cells.ask(BASE, 'DELETE')).headers).not.toHaveProperty('x-used-by-count')
  })

  test('is not deleted for good where only a cell that is away may have it', async () => {
    await script({ aa: NONE, bb: NONE, cc: 'away' })
    expect(jsonOf(await cells.ask(BASE, 'DELETE'))).toMatchObject({ status: 503, code: 'agent_unavailable' })
  })
})

test.each(['/v1/tokens', '/v1/projects/demo/events', '/v1/audit'])('%s asks no other cell here', async (target) => {
  expect(jsonOf(await cells.ask(target))).toEqual({ answered_by: 'aa' })
  expect(asked(target)).toEqual(['aa'])
})

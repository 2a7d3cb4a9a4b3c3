import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import { answerList, type ListedItem, listedItem } from '../../helpers/fleet/cell-lists.ts'
import { keptBox } from '../../helpers/fleet/entries.ts'
import { CELLS, type CellName, type FakeCells, startFakeCells } from '../../helpers/fleet/fake-cells.ts'
import { jsonOf } from '../../helpers/front/test-front.ts'

const BOXES = '/v1/projects/demo/boxes'

let cells: FakeCells
let fleet: FakeCells['fleet']
let agents: FakeCells['agents']
let items: Record<CellName, ListedItem[]>

beforeEach(async () => {
  items = { aa: [], bb: [], cc: [] }
  cells = await startFakeCells((cell, { target }) => answerItems(cell, target))
  fleet = cells.fleet
  agents = cells.agents
})

afterEach(() => cells.close())

const ask: FakeCells['ask'] = (...given) => cells.ask(...given)

function answerItems(cell: CellName, target: string): HttpResponse {
  const field = /(boxes|bases|backups)/.exec(target)?.[1] ?? 'volumes'
  return answerList(target, field, items[cell])
}

const namesOf = (response: HttpResponse, field = 'boxes'): string[] =>
  (jsonOf(response)[field] as ListedItem[]).map(({ project, name }) => `${project}/${name}`)

/** Reads a list page by page, and calls `between` after each page. */
async function readPages(target: string, between: () => void = () => undefined): Promise<string[][]> {
  const pages: string[][] = []
  for (let token = ''; ; ) {
    const response = await ask(`${target}${token}`)
    expect(response.status).toBe(200)
    pages.push(namesOf(response))
    const { has_more: hasMore, next_continuation_token: next } = jsonOf(response)
    expect(hasMore).toBe(next !== null)
    if (next === null) return pages
    token = `&continuation_token=${next as string}`
    between()
  }
}

const numbered = (count: number, project = 'demo'): ListedItem[] =>
  Array.from({ length: count }, (_, i) => listedItem(`n${String(i).padStart(3, '0')}`, project))
const spread = (all: readonly ListedItem[]): void => {
  for (const [i, item] of all.entries()) items[CELLS[i % 3] as CellName].push(item)
}

describe('a list', () => {
  test('has what all cells have, in order, each item as its cell told it', async () => {
    const all = [...numbered(7), ...numbered(4, 'b')]
    spread(all)
    const response = await ask('/v1/projects/-/boxes?max_results=50')
    const sorted = all.toSorted((one, other) =>
      `${one.project}/${one.name}` < `${other.project}/${other.name}` ? -1 : 1,
    )
    expect(jsonOf(response)).toEqual({ boxes: sorted, has_more: false, next_continuation_token: null })
    expect(response.headers).toMatchObject({ 'content-type': 'application/json' })
  })

  test('is the same through any door', async () => {
    spread(numbered(10))
    const answers: unknown[] = []
    for (const cell of CELLS) {
      cells.openDoor(cell)
      answers.push(jsonOf(await ask(`${BOXES}?max_results=4`)))
    }
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
  })

  test.each([1, 2, 5, 20, 21, 100])('of 20 comes in pages of %i, without a gap or a repeat', async (size) => {
    const all = numbered(20)
    items.aa = all.slice(0, 9)
    items.bb = all.slice(9)
    const pages = await readPages(`${BOXES}?max_results=${size}`)
    expect(pages.flat()).toEqual(all.map(({ name }) => `demo/${name}`))
    expect(pages.slice(0, -1).map(({ length }) => length)).toEqual(pages.slice(0, -1).map(() => size))
    expect(pages.at(-1)?.length).toBeGreaterThan(0)
  })

  test('keeps its place while items come and go at every cell', async () => {
    const all = numbered(30)
    spread(all)
    let round = 0
    const pages = await readPages(`${BOXES}?max_results=4`, () => {
      round++
      for (const cell of CELLS) {
        items[cell] = items[cell].filter(({ name }) => name !== `n${String(round * 4).padStart(3, '0')}`)
        items[cell].push(listedItem(`a-${cell}-${round}`))
      }
    })
    const names = pages.flat()
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(names.toSorted())
    const stayed = all.filter((_, i) => i % 4 !== 0 || i === 0).map(({ name }) => `demo/${name}`)
    expect(names).toEqual(expect.arrayContaining(stayed))
  })

  test('ends a page where a cell ends its own early, since what comes next there is not known', async () => {
    items.aa = numbered(3)
    const [first, ...rest] = numbered(6).map((item, i) => ({ ...item, name: `n00${i}-b` }))
    items.bb = [first as ListedItem, ...rest]
    agents.bb.respond = ({ target }) =>
      answerList(target.replace(/max_results=\d+/, 'max_results=1'), 'boxes', items.bb)
    const pages = await readPages(`${BOXES}?max_results=50`)
    const all = [...items.aa, ...items.bb].map(({ name }) => `demo/${name}`).toSorted()
    expect(pages.flat()).toEqual(all)
    expect(pages[0]).toEqual(['demo/n000', 'demo/n000-b'])
  })

  test('tells a name once: as the cell has it that its home names', async () => {
    items.aa = [listedItem('web', 'demo', { id: 'box_old' })]
    items.cc = [listedItem('web', 'demo', { id: 'box_new' })]
    agents.aa.entry.memory.set('box demo/web', 'cc')
    expect((jsonOf(await ask(BOXES))['boxes'] as ListedItem[]).map(({ id }) => id)).toEqual(['box_new'])
  })

  test('of bases tells a shared one once, before those of projects', async () => {
    for (const cell of CELLS) items[cell] = [listedItem('busybox', null, { id: `bas_${cell}` })]
    items.cc.push(listedItem('mine'))
    expect(namesOf(await ask('/v1/projects/demo/bases'), 'bases')).toEqual(['null/busybox', 'demo/mine'])
  })

  test('of stored backups goes by their ids', async () => {
    const backups = (...ids: string[]): ListedItem[] =>
      ids.map((id) => ({ id, project: 'demo', name: '', volume: 'pg' }))
    const answer = (list: ListedItem[]) => () =>
      jsonResponse(200, { backups: list, has_more: false, next_continuation_token: null })
    agents.aa.respond = answer(backups('bak_1', 'bak_3'))
    agents.bb.respond = answer(backups('bak_2', 'bak_3'))
    agents.cc.respond = answer([])
    const told = jsonOf(await ask('/v1/projects/demo/backups'))['backups'] as ListedItem[]
    expect(told.map(({ id }) => id)).toEqual(['bak_1', 'bak_2', 'bak_3'])
  })

  test('is refused as this cell refuses it, or another', async () => {
    agents.aa.respond = () => jsonResponse(403, { code: 'permission_denied' })
    expect((await ask(BOXES)).status).toBe(403)
    agents.aa.respond = ({ target }) => answerItems('aa', target)
    agents.cc.respond = () => jsonResponse(500, { code: 'internal', detail: 'of cc' })
    const response = await ask(BOXES)
    expect([response.status, jsonOf(response)['detail']]).toEqual([500, 'of cc'])
  })

  test('is asked of no other cell by one that was asked by another, nor by whom the functions have not sent', async () => {
    spread(numbered(3))
    await ask(BOXES)
    const asked = CELLS.map((cell) => agents[cell].seen.filter(({ target }) => target === BOXES).length)
    expect(asked).toEqual([1, 1, 1])
    const plain = await fetch(`${agents.aa.url}${BOXES}`)
    expect(plain.status).toBe(502)
    expect(CELLS.map((cell) => agents[cell].seen.filter(({ target }) => target === BOXES).length)).toEqual(asked)
  })

  test('comes from cells that have all just started, for whose runs the functions cannot sign at once', async () => {
    for (const cell of CELLS) await cells.restart(cell)
    spread(numbered(6))
    cells.openDoor('aa')
    expect(namesOf(await ask(BOXES))).toHaveLength(6)
  })
})

describe('a cell that does not answer', () => {
  beforeEach(() => {
    items.aa = [listedItem('a'), listedItem('d')]
    items.bb = [listedItem('b'), listedItem('e')]
    items.cc = [listedItem('c')]
    fleet.kept.push(keptBox('b', 'bb'), keptBox('e', 'bb'), keptBox('x', 'bb', 'other'), keptBox('c', 'cc'))
    for (const name of ['b', 'e']) {
      fleet.homes.set(`box demo/${name}`, 'bb')
      agents.aa.entry.memory.set(`box demo/${name}`, 'bb')
    }
  })

  const unknown = (response: HttpResponse): unknown[] =>
    (jsonOf(response)['boxes'] as ListedItem[]).filter(({ status }) => status === 'unknown').map(({ name }) => name)

  test('has its boxes told by their cards, by list and get alike', async () => {
    await agents.bb.close()
    const response = await ask(BOXES)
    expect([response.status, namesOf(response)]).toEqual([200, ['demo/a', 'demo/b', 'demo/c', 'demo/d', 'demo/e']])
    expect(unknown(response)).toEqual(['b', 'e'])
    const [, listed] = jsonOf(response)['boxes'] as ListedItem[]
    expect(listed).toMatchObject({
      id: keptBox('b', 'bb').uid,
      status: 'unknown',
      state: { reason: 'host_lost', message: expect.stringContaining('cell bb'), since: '1970-01-01T00:00:01.000Z' },
      base: 'busybox',
      node: 'node-bb',
      created_at: '1970-01-01T00:00:01.000Z',
    })
    agents.aa.respond = () => jsonResponse(404, { code: 'box_not_found' })
    expect(jsonOf(await ask(`${BOXES}/b`))).toEqual(listed)
    for (const target of [`${BOXES}/b/metrics`, `${BOXES}/b/exec`])
      expect(jsonOf(await ask(target))).toMatchObject({ code: 'agent_unavailable', status: 503 })
    expect((await ask(`${BOXES}/b/stop`, 'POST')).status).toBe(503)
  })

  test('has them told also once it has no agent any more', async () => {
    await agents.bb.close()
    fleet.urls.delete('bb')
    expect(unknown(await ask(BOXES))).toEqual(['b', 'e'])
    agents.aa.respond = () => jsonResponse(404, { code: 'box_not_found' })
    expect(jsonOf(await ask(`${BOXES}/e`))).toMatchObject({ status: 'unknown', state: { reason: 'host_lost' } })
  })

  test('has them told page by page, by prefix, status, and to who may read their project', async () => {
    await agents.bb.close()
    expect(await readPages(`${BOXES}?max_results=2`)).toEqual([['demo/a', 'demo/b'], ['demo/c', 'demo/d'], ['demo/e']])
    expect(unknown(await ask(`${BOXES}?prefix=e`))).toEqual(['e'])
    expect(unknown(await ask(`${BOXES}?status=running`))).toEqual([])
    expect(unknown(await ask('/v1/projects/-/boxes'))).toEqual(['b', 'e', 'x'])
    await cells.authorize({ projects: ['demo', 'third'] })
    expect(unknown(await ask('/v1/projects/-/boxes'))).toEqual(['b', 'e'])
  })

  test('says nothing of tags, volumes and bases: then the list names it', async () => {
    await agents.bb.close()
    fleet.kept.push({ ...keptBox('pg', 'bb'), kind: 'volume' })
    for (const target of [`${BOXES}?tag=a`, '/v1/projects/demo/data', '/v1/projects/demo/bases', '/v1/bases']) {
      const response = await ask(target)
      expect([target, response.status, jsonOf(response)['code']]).toEqual([target, 503, 'agent_unavailable'])
      expect(jsonOf(response)['detail']).toContain('cell bb')
    }
    expect((await ask('/v1/projects/third/data')).status).toBe(200)
    expect((await ask(`${BOXES}?tag=a&prefix=z`)).status).toBe(200)
  })

  test('lets nobody know of its boxes whom this cell does not let in', async () => {
    await agents.bb.close()
    agents.aa.respond = () => jsonResponse(401, { code: 'token_revoked' })
    expect((await ask(`${BOXES}/b`)).status).toBe(401)
    expect((await ask(BOXES)).status).toBe(401)
  })

  test('leaves a 503 that names it where the directory is away too', async () => {
    await agents.bb.close()
    fleet.isDirectoryAway = true
    agents.aa.respond = ({ target }) =>
      target === BOXES ? answerItems('aa', target) : jsonResponse(404, { code: 'box_not_found' })
    for (const target of [BOXES, `${BOXES}/b`]) {
      const response = await ask(target)
      expect([response.status, jsonOf(response)['code']]).toEqual([503, 'agent_unavailable'])
      expect(jsonOf(response)['detail']).toContain('cell bb')
    }
  })

  test('in the middle of its page is told by cards from there on', async () => {
    const whole = answerItems('bb', BOXES).body as string
    agents.bb.respond = () => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield Buffer.from(whole.slice(0, whole.indexOf('"name":"e"')))
        throw new Error('cut')
      })(),
    })
    const response = await ask(BOXES)
    expect([response.status, namesOf(response)]).toEqual([200, ['demo/a', 'demo/b', 'demo/c', 'demo/d', 'demo/e']])
    // The client may or may not have read the part before the cut.
    expect(unknown(response)).toContain('e')
  })

  test('in time is one that does not answer, and one that is slow is waited for', async () => {
    const { promise: never, resolve: end } = Promise.withResolvers<HttpResponse>()
    const { promise: late, resolve: answer } = Promise.withResolvers<void>()
    agents.bb.respond = () => never
    agents.cc.respond = async ({ target }) => {
      await late
      return answerItems('cc', target)
    }
    setTimeout(answer, 50)
    agents.aa.respond = ({ target }) =>
      target === BOXES ? answerItems('aa', target) : jsonResponse(404, { code: 'box_not_found' })
    const [response, got] = await Promise.all([ask(BOXES), ask(`${BOXES}/b`)])
    expect(unknown(response)).toEqual(['b', 'e'])
    expect(namesOf(response)).toContain('demo/c')
    expect(jsonOf(got)).toEqual((jsonOf(response)['boxes'] as ListedItem[])[1])
    // The cell is known not to answer, so the next request does not wait as long.
    expect(unknown(await ask(BOXES))).toEqual(['b', 'e'])
    end(jsonResponse(200, {}))
  })
})

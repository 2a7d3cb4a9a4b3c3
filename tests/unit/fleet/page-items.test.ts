import { describe, expect, test } from '@jest/globals'
import { joinProjects } from '../../../agent/server/merge-answers.ts'
import { mergePages, type PageItems } from '../../../agent/server/merge-pages.ts'
import { splitPage } from '../../../agent/server/page-items.ts'

const END = { has_more: true, next_continuation_token: 'abc' }

async function* inPieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text)
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes)
}

async function split(text: string, bytes = 7): Promise<{ items: unknown[]; end: unknown }> {
  const items: unknown[] = []
  const reader = splitPage(inPieces(text, bytes), 'boxes')
  for (;;) {
    const { done, value } = await reader.next()
    if (done === true) return { items, end: value }
    items.push(JSON.parse(value.toString()))
  }
}

describe('a page', () => {
  const ITEMS = [
    { a: '}],{"[', b: ['\\', '\\"', '"'], c: {} },
    { nested: [[], [{}, [{ x: ']}' }]]], text: 'ü€😀\n' },
    {},
  ]

  test.each([1, 2, 3, 5, 64, 10_000])('in pieces of %i bytes has the items and the end that it had', async (bytes) => {
    const text = JSON.stringify({ boxes: ITEMS, ...END })
    expect(await split(text, bytes)).toEqual({ items: ITEMS, end: END })
  })

  test('without items has its end alone', async () => {
    const end = { has_more: false, next_continuation_token: null }
    expect(await split(JSON.stringify({ boxes: [], ...end, added: { later: [1] } }))).toEqual({ items: [], end })
  })

  test.each([
    ['another array', '{"volumes":[]}', 'has no boxes'],
    ['no end', '{"boxes":[{"a":1},', 'incomplete'],
    ['nothing', '', 'incomplete'],
    ['an end that says nothing', '{"boxes":[]}', 'no end'],
    ['an item that does not end', `{"boxes":[{"a":"${'x'.repeat(5 * 1024 * 1024)}`, 'longer than'],
  ])('with %s is refused', async (_, text, problem) => {
    await expect(split(text, 100_000)).rejects.toThrow(problem)
  })
})

describe('merged pages', () => {
  async function* page(names: string[], hasMore = false, read: string[] = []): PageItems {
    for (const name of names) {
      read.push(name)
      yield { key: ['p', name], json: Buffer.from(`"${name}"`) }
    }
    return { has_more: hasMore, next_continuation_token: hasMore ? 'of the page' : null }
  }
  const merge = async (pages: PageItems[], limit = 10): Promise<{ items: string[]; next: unknown }> => {
    const { items, next } = await mergePages(pages, {
      limit,
      choose: (_, found) => found.at(-1) as number,
      turn: async () => undefined,
    })
    return {
      items: items.map((item) => JSON.parse(item.toString())),
      next: next === null || next === 'of the page' ? next : JSON.parse(Buffer.from(next, 'base64url').toString()),
    }
  }

  test('read no further than the next item of each', async () => {
    const read: string[] = []
    const names = Array.from({ length: 100 }, (_, i) => `n${i + 100}`)
    const merged = await merge([page(names, true, read), page(['z'])], 3)
    expect(merged).toEqual({ items: ['n100', 'n101', 'n102'], next: ['p', 'n102'] })
    expect(read).toEqual(['n100', 'n101', 'n102', 'n103'])
  })

  test('end where one has ended that is not the last of its cell', async () => {
    expect(await merge([page(['a', 'c'], true), page(['b', 'd'])])).toEqual({
      items: ['a', 'b', 'c'],
      next: ['p', 'c'],
    })
    expect(await merge([page([], true), page(['b'])])).toEqual({ items: [], next: 'of the page' })
  })

  test('have more only if there is more', async () => {
    expect(await merge([page(['a']), page(['b'])], 2)).toEqual({ items: ['a', 'b'], next: null })
    expect(await merge([page(['a']), page(['b'])], 1)).toEqual({ items: ['a'], next: ['p', 'a'] })
    expect(await merge([page([]), page([])])).toEqual({ items: [], next: null })
  })

  test('end at some size, also before the limit', async () => {
    async function* large(): PageItems {
      for (let i = 0; i < 10; i++)
        yield { key: ['p', String(i)], json: Buffer.from(JSON.stringify('x'.repeat(300_000))) }
      return { has_more: false, next_continuation_token: null }
    }
    const { items, next } = await merge([large()], 1_000)
    expect([items.length, next]).toEqual([7, ['p', '6']])
  })

  test('have one item for those of a key where they are joined', async () => {
    const item = (project: string, boxes: number, updatedAt: string | null = null): Buffer => {
      const allowed = { boxes: updatedAt === null ? null : boxes, cpus: null, ram_mb: null, storage_gb: null }
      const used = { boxes, cpus: 0.1 * boxes, ram_mb: 64 * boxes, storage_gb: boxes, stored_bytes: 10 * boxes }
      const kinds = { running: boxes - 1, stopped: 1, other: 0 }
      return Buffer.from(JSON.stringify({ project, allowed, used, updated_at: updatedAt, boxes: kinds, volumes: 1 }))
    }
    async function* projects(...items: Buffer[]): PageItems {
      for (const json of items) yield { key: [JSON.parse(json.toString()).project], json }
      return { has_more: false, next_continuation_token: null }
    }
    const at = '2026-11-20T08:00:00.000Z'
    const [one, two] = [projects(item('a', 1), item('b', 2, at)), projects(item('b', 1), item('c', 1))]
    const choose = (): number => {
      throw new Error('one is chosen')
    }
    const { items } = await mergePages([one, two], {
      limit: 9,
      choose,
      join: joinProjects,
      turn: async () => undefined,
    })
    const [a, b, c] = items.map((each) => JSON.parse(each.toString()))
    expect([a.project, c]).toEqual(['a', JSON.parse(item('c', 1).toString())])
    expect(b).toEqual({
      project: 'b',
      allowed: { boxes: 2, cpus: null, ram_mb: null, storage_gb: null },
      used: { boxes: 3, cpus: 0.3, ram_mb: 192, storage_gb: 3, stored_bytes: 30 },
      updated_at: at,
      boxes: { running: 1, stopped: 2, other: 0 },
      volumes: 2,
    })
  })

  test('fail as one of them fails', async () => {
    async function* broken(): PageItems {
      yield { key: ['p', 'a'], json: Buffer.from('1') }
      throw new Error('cut')
    }
    await expect(merge([page(['b']), broken()])).rejects.toThrow('cut')
  })
})

import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer } from '../../helpers/front/client.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { client } = useSharedService()
const BOX = '/v1/projects/tokens/boxes/web'
const LISTS = {
  listFiles: `${BOX}/files/list?path=/d&depth=64`,
  diffBoxSnapshot: `${BOX}/snapshots/first/diff?to=live`,
}
const NAME = 'n'.repeat(255)
/** 64 names of nearly 16 KiB in total, which is the maximum depth of a list. */
const DEEP = [...Array.from({ length: 63 }, () => NAME), 'last']
/** Builds the path by moves, because a program can pass at most 4,095 bytes of path. */
const MAKE_DEEP = `set -e
names=$(i=0; while [ $i -lt 14 ]; do printf ${NAME}/; i=$((i+1)); done)
mkdir -p /t0/${NAME}/${NAME}/${NAME}/last
for i in 1 2 3 4; do mkdir -p /t$i/$names; mv /t$((i-1)) /t$i/"$names"${NAME}; done
mv /t4 /d; mkdir /d/z`

let bounds: Record<string, number>

beforeAll(async () => {
  await client.post('/v1/projects/tokens/boxes', { name: 'web', config: { ram_mb: 64 } })
  await client.post(`${BOX}/snapshots`, { name: 'first' })
  expect((await client.shell('tokens', 'web', MAKE_DEEP)).body).toMatchObject({ exit_code: 0 })
  const document = (await client.get('/openapi.json')).body
  bounds = Object.fromEntries(
    Object.keys(LISTS).map((id) => {
      const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object))
      const { parameters } = operations.find(({ operationId }) => operationId === id)
      const token = parameters.find(({ name }: { name: string }) => name === 'continuation_token')
      return [id, token.schema.maxLength]
    }),
  )
})

describe('the token of a page of paths', () => {
  test('leads on from the longest path, and is within what the document declares', async () => {
    const page = (await client.get(`${LISTS.listFiles}&max_results=64`)).body
    expect(page.files.at(-1).path === DEEP.join('/')).toBe(true)
    const { length } = page.next_continuation_token
    expect(length).toBeGreaterThan(16_384)
    expect(length).toBeLessThanOrEqual(bounds['listFiles'] ?? 0)
    const next = await client.get(`${LISTS.listFiles}&continuation_token=${page.next_continuation_token}`)
    expect(next.body.files.map(({ path }: { path: string }) => path)).toEqual(['z'])
  })

  test.each(Object.entries(LISTS))('of %s is read up to the length that is declared', async (id, list) => {
    const ask = (length: number): Promise<Answer> =>
      client.get(`${list}&continuation_token=${'A'.repeat(length)}`, { headers: { 'x-request-id': 'r'.repeat(128) } })
    const within = await ask(bounds[id] ?? 0)
    expect(within.body.detail ?? '').not.toContain('head')
    expect((await ask((bounds[id] ?? 0) + 1)).body.errors).toMatchObject([{ pointer: '/query/continuation_token' }])
  })

  test.each(Object.values(LISTS))('of another list is refused by %s', async (list) => {
    for (const text of ['["box"]', 'moved\0/etc']) {
      const refused = await client.get(`${list}&continuation_token=${Buffer.from(text).toString('base64url')}`)
      expect(refused.body.errors).toEqual([
        { pointer: '/query/continuation_token', detail: 'must be the next_continuation_token of a previous page' },
      ])
    }
  })
})

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type EventStream, followEvents } from '../../helpers/event-stream.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_RATE_LIMIT: '10000', BOXYARD_RATE_BURST: '10000' } })
})

afterAll(async () => {
  await service.close()
})

const scopeOf = (...projects: string[]) => ({ name: 'tenant', projects, permissions: ['read'] })

async function mint(scope: ReturnType<typeof scopeOf>, token?: string): Promise<string> {
  const { status, body } = await client.post('/v1/tokens', scope, token === undefined ? {} : { token })
  expect(status).toBe(201)
  return body.token
}

describe('a token of one tenant, with those minted with it', () => {
  let own: string[] = []
  let other = ''

  beforeAll(async () => {
    const tenant = await mint(scopeOf('a', 'b', 'c'))
    own = [tenant, ...(await Promise.all(['a', 'b', 'c', 'a'].map((project) => mint(scopeOf(project), tenant))))]
    own.push(await mint(scopeOf('a'), own[1]))
    other = await mint(scopeOf('d'))
  })

  test('leaves half of all event streams to others, in whatever projects and by whatever tokens it reads', async () => {
    const streams: EventStream[] = []
    const open = async (project: string, token: string): Promise<boolean> => {
      const url = `${service.url}/v1/projects/${project}/events?since=now`
      const headers = { authorization: `Bearer ${token}` }
      const { status } = await client.get(`/v1/projects/${project}/events?since=now`, { token })
      if (status !== 200) return false
      return followEvents(url, headers).then(
        (stream) => streams.push(stream) > 0,
        () => false,
      )
    }
    const openAll = async (uses: readonly (readonly [string, string | undefined])[]): Promise<number> => {
      let opened = 0
      for (let i = 0; ; i++) {
        const [project, token = ''] = uses[i % uses.length] ?? ['', '']
        if (!(await open(project, token))) return opened
        opened++
      }
    }
    const { limits, shares } = (await client.get('/v1/config')).body
    const total = limits[shares.event_streams.limit]
    expect([total, shares.event_streams.rule]).toEqual([256, 'at_most_free'])
    const taken = await openAll([
      ['a', own[0]],
      ['a', own[1]],
      ['b', own[2]],
      ['c', own[3]],
      ['-', own[4]],
      ['a', own[5]],
    ])
    expect(taken).toBe(total / 2)
    expect(await open('d', other)).toBe(true)
    for (const stream of streams) stream.leave()
  })
})

test('a token that an operator minted says nothing of who else it minted for', async () => {
  const token = await mint(scopeOf('e'))
  const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  expect(payload).not.toHaveProperty('root')
  const child = JSON.parse(Buffer.from((await mint(scopeOf('e'), token)).split('.')[1] ?? '', 'base64url').toString())
  expect(child.root).toBe(payload.jti)
})

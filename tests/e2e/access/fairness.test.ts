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
    expect([total, shares.event_streams.rule]).toEqual([256, 'left_free'])
    const taken = await openAll([
      ['a', own[0]],
      ['a', own[1]],
      ['b', own[2]],
      ['c', own[3]],
      ['-', own[4]],
      ['a', own[5]],
    ])
    expect(taken).toBe(total / 2)
    expect(await openAll([['d', other]])).toBe(total / 4)
    for (const stream of streams) stream.leave()
  })

  test('leaves half of all tickets to others', async () => {
    const issue = async (project: string, token: string): Promise<number> => {
      const body = { operation: 'listEvents', query: { since: 'now' } }
      return (await client.post(`/v1/projects/${project}/tickets`, body, { token })).status
    }
    const half = (await client.get('/v1/config')).body.limits.tickets_at_once / 2
    let issued = 0
    for (let isOpen = true; isOpen; ) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => issue('a', own[[0, 1, 4, 5][i % 4] ?? 0] ?? '')),
      )
      issued += answers.filter((status) => status === 201).length
      isOpen = !answers.includes(429)
    }
    expect(issued).toBe(half)
    expect(await issue('a', own[1] ?? '')).toBe(429)
    expect(await issue('d', other)).toBe(201)
  })
})

test('a token that an operator minted says nothing of who else it minted for', async () => {
  const token = await mint(scopeOf('e'))
  const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  expect(payload).not.toHaveProperty('root')
  const child = JSON.parse(Buffer.from((await mint(scopeOf('e'), token)).split('.')[1] ?? '', 'base64url').toString())
  expect(child.root).toBe(payload.jti)
})

import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer } from '../helpers/front/client.ts'
import { useSharedService } from '../helpers/own-service.ts'
import {
  BOUNDS,
  CREATES,
  type KnownDefaults,
  MOUNTS,
  REFUSED_CALLS,
  REPORTS,
  type SpecifiedCall,
  UPDATES,
} from './specification/calls.ts'
import { type Document, DocumentCheck } from './specification/document.ts'
import { SPECIFIED_BOX } from './specification/resources.ts'
import { CREATE_BOX, ROUTES, UPDATE_BOX } from './specification/routes.ts'
import { nameOfRoute, type Route } from './specification/shape.ts'
import { faultsOfFields } from './specification/values.ts'

// Restates the API's specification. No change may rename or narrow these tables.

const { client } = useSharedService()
let document: Document
const known: KnownDefaults = { base: '', region: '' }

/** Schemas of the document, which tests change. */
type Schemas = Record<'Box' | 'BoxConfig' | 'CreateBox', { properties: Record<string, unknown>; required: string[] }>

beforeAll(async () => {
  document = (await client.get('/openapi.json')).body
  expect((await client.post('/v1/projects/contract/data', { name: 'db', size_gb: 0.1 })).status).toBe(201)
})

/** Sends the request of a call. */
async function send({ route, name = '', method = route.method, body, hasToken }: SpecifiedCall): Promise<Answer> {
  const path = route.path.replace('{project}', 'contract').replace('{name}', name)
  return client.call(method, path, {
    ...(body === undefined ? {} : { body: body(known) }),
    ...(hasToken === false ? { token: null } : {}),
  })
}

/** Returns the OpenAPI document's description of an answer. */
function describedAs(route: Route, { status }: Answer): string | undefined {
  return new DocumentCheck(document).operationOf(route)?.responses[String(status)]?.description
}

/** Sends a request that must succeed, and compares the answer with the specification. */
async function expectSuccess(call: SpecifiedCall): Promise<Answer> {
  const { route, shows } = call
  const answer = await send(call)
  if (answer.status < 200 || answer.status > 299) throw new Error(`${answer.status} ${answer.text}`)
  expect(describedAs(route, answer)).toEqual(route.outcome ?? expect.any(String))
  expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
  expect(faultsOfFields(answer.body, route.response ?? {})).toEqual([])
  expect(answer.body).toMatchObject(shows?.(known) ?? {})
  return answer
}

describe('the OpenAPI document', () => {
  test.each(ROUTES.map((route) => [nameOfRoute(route), route] as const))('has %s as specified', (_, route) => {
    expect(new DocumentCheck(document).faultsOf(route)).toEqual([])
  })

  test('has all routes of a project below /v1, and routes for the life cycle of a box', () => {
    const paths = Object.keys(document.paths)
    expect(paths.filter((path) => path.includes('{project}') && !path.startsWith('/v1/projects/{project}'))).toEqual([])
    expect(paths.filter((path) => path.startsWith(`${UPDATE_BOX.path}/`)).length).toBeGreaterThan(0)
  })
})

describe('the comparison', () => {
  test.each<[string, (schemas: Schemas) => void]>([
    ['201.url is missing', ({ Box }) => delete Box.properties['url']],
    ['201.created_at is not required', ({ Box }) => Box.required.splice(Box.required.indexOf('created_at'), 1)],
    ['201.name may be null', ({ Box }) => Object.assign(Box.properties, { name: { type: ['string', 'null'] } })],
    ['201.tags is of type array', ({ Box }) => Object.assign(Box.properties, { tags: { type: 'array' } })],
    [
      '201.port has format int64',
      ({ Box }) => Object.assign(Box.properties, { port: { type: 'integer', format: 'int64' } }),
    ],
    [
      '201.config.cpus is of type string',
      ({ BoxConfig }) => Object.assign(BoxConfig.properties, { cpus: { type: 'string' } }),
    ],
    ['body.name is not required', ({ CreateBox }) => CreateBox.required.pop()],
    ['body.node is required', ({ CreateBox }) => CreateBox.required.push('node')],
    ['body.tags is required', ({ CreateBox }) => CreateBox.required.push('tags')],
    [
      'body.fork must not be null',
      ({ CreateBox }) => Object.assign(CreateBox.properties, { fork: { type: 'string' } }),
    ],
  ])('finds that %s', (fault, change) => {
    const changed = structuredClone(document)
    change(changed.components.schemas as unknown as Schemas)
    expect(new DocumentCheck(changed).faultsOf(CREATE_BOX)).toEqual([expect.stringContaining(fault)])
  })

  test.each([
    ['a field is missing', { name: 'a' }, ['tags is missing']],
    ['a field is null', { name: null, tags: {} }, ['name is null, not string']],
    ['a map is an array', { name: 'a', tags: [] }, ['tags is [], not map']],
    ['a body is no object', null, ['the body is null, not an object']],
  ])('finds that %s', (_, body, faults) => {
    expect(faultsOfFields(body, { name: { kind: 'string' }, tags: { kind: 'map' } })).toEqual(faults)
  })
})

describe('a real service answers', () => {
  test('the health with every field', async () => {
    for (const call of REPORTS) await expectSuccess(call)
    const [health, version] = await Promise.all([client.get('/healthz'), client.get('/version')])
    expect(Object.values(version.body)).toContain(health.body.api.api_version)
  })

  test('the first box, which shows the base and the region', async () => {
    const [first] = CREATES
    if (first === undefined) throw new Error('there is no first box')
    const { body } = await expectSuccess(first)
    Object.assign(known, { base: body.base, region: body.config.region })
    expect(known).toEqual({ base: expect.stringMatching(/./), region: expect.stringMatching(/./) })
  })

  test.each(UPDATES.map((each) => [each.title, each] as const))('an update with %s', async (_, call) => {
    await expectSuccess(call)
  })

  test.each([...MOUNTS, ...CREATES.slice(1), ...BOUNDS].map((each) => [each.title, each] as const))(
    '%s',
    async (_, call) => {
      await expectSuccess(call)
    },
  )

  test('each resource alike, which keeps what an update does not name', async () => {
    const { body } = await client.get('/v1/projects/contract/boxes/plain')
    expect(faultsOfFields(body, SPECIFIED_BOX)).toEqual([])
    expect(body).toMatchObject({ environment: { GREETING: 'hello' }, tags: { team: 'core' }, config: { ram_mb: 64 } })
    const { body: report } = await client.get('/healthz')
    const { total, ...counts } = report.boxes as Record<string, number>
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(total)
    expect(counts['running']).toBeGreaterThanOrEqual(4)
  })

  test.each(REFUSED_CALLS.map((each) => [nameOfRoute(each.route), each.title, each] as const))(
    '%s refuses %s',
    async (_, _title, call) => {
      const answer = await send(call)
      expect([answer.status, answer.text]).toEqual([expect.any(Number), expect.stringMatching(/^\{/)])
      expect(answer.status >= 400 && answer.status < 500).toBe(true)
      expect(answer.headers['content-type']).toMatch(/^application\/(problem\+)?json\b/)
      if (call.method === undefined) expect(describedAs(call.route, answer)).toEqual(expect.any(String))
    },
  )

  test('and every route has been asked well and badly', () => {
    const good = [...REPORTS, ...CREATES, ...UPDATES, ...MOUNTS, ...BOUNDS]
    for (const calls of [good, REFUSED_CALLS])
      expect([...new Set(calls.map(({ route }) => nameOfRoute(route)))].sort()).toEqual(ROUTES.map(nameOfRoute).sort())
  })
})

import { describe, expect, test } from '@jest/globals'
import { buildOpenApiDocument } from '../../../shared/openapi/document.ts'

interface Described {
  operationId: string
  parameters: { name: string; schema: Schema }[]
  requestBody?: { content: Record<string, unknown> }
  'x-boxyard-retry': string
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> } | undefined>
  security: object[]
}

type Schema = Record<string, unknown>

const document = buildOpenApiDocument()
const { paths, components } = document as {
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema & { properties: Record<string, Schema> }> }
}
const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
const operation = (id: string) => operations.find(({ operationId }) => operationId === id)

describe('the OpenAPI document', () => {
  test.each([
    ['post', '/v1/projects/{project}/boxes', '201', 'box created'],
    ['put', '/v1/projects/{project}/boxes/{name}', '200', 'box updated'],
    ['post', '/v1/projects/{project}/data/{name}/attach', '200', 'data attached'],
    ['post', '/v1/projects/{project}/data/{name}/detach', '200', 'data detached'],
  ])('calls the outcome of %s %s what the original specification does', (method, path, status, outcome) => {
    expect(paths[path]?.[method]?.responses[status]?.description).toBe(outcome)
  })

  test.each([
    ['listBoxes', 'safe'],
    ['updateBox', 'idempotent'],
    ['deleteBox', 'idempotent'],
    ['writeFile', 'idempotent'],
    ['createBox', 'key'],
    ['createExec', 'key'],
    ['createToken', 'never'],
    ['streamExec', 'never'],
  ])('marks whether %s may be repeated', (id, retry) => {
    expect(operation(id)?.['x-boxyard-retry']).toBe(retry)
  })

  test('has the type of time that may be null beside null', () => {
    const { type, format } = components.schemas['Box']?.properties['lease_until'] ?? {}
    expect([type, format]).toEqual([['string', 'null'], 'date-time'])
  })

  test('has patterns that every engine of regular expressions knows', () => {
    const text = JSON.stringify(document)
    expect(text).toContain('[^\\\\x00]')
    expect(text).not.toContain('\\\\0')
    expect(text).not.toContain('(?=')
    expect(components.schemas['Name']).toMatchObject({ minLength: 1, maxLength: 63 })
  })

  test('says which whole numbers exceed 32 bits', () => {
    expect(components.schemas['FileEntry']?.properties['size_bytes']?.['format']).toBe('int64')
    expect(components.schemas['Lease']?.properties['seconds']?.['format']).toBeUndefined()
  })

  test('names the constants of enums that share a value', () => {
    const status = components.schemas['ExecStatus']
    const names = (status?.['enum'] as string[]).map((value) => `EXEC_STATUS_${value.toUpperCase()}`)
    expect(status?.['x-enum-varnames']).toEqual(names)
    expect(components.schemas['Permission']).not.toHaveProperty('x-enum-varnames')
  })

  test('has a type for every body, and for what streams carry', () => {
    const types = operations.flatMap(({ requestBody, responses }) =>
      [requestBody, ...Object.values(responses)].flatMap((body) => Object.keys(body?.content ?? {})),
    )
    expect(types).not.toContain('')
    for (const id of ['writeFile', 'writeArchive', 'createBase'])
      expect([id, Object.keys(operation(id)?.requestBody?.content ?? {})[0]]).toEqual([id, 'application/octet-stream'])
    const stream = operation('listEvents')?.responses['200']?.content?.['text/event-stream']
    expect(stream?.schema).toEqual({ $ref: '#/components/schemas/Event' })
  })

  test('declares of headers what is held to', () => {
    const headers = operation('createBox')?.parameters ?? []
    const schema = (header: string) => headers.find(({ name }) => name === header)?.schema
    expect(schema('Idempotency-Key')).toMatchObject({ minLength: 1, maxLength: 255 })
    expect(schema('X-Request-Id')).not.toHaveProperty('maxLength')
  })

  test('has no 401 for health, which takes any token', () => {
    const health = paths['/healthz']?.['get']
    expect(health?.security).toContainEqual({})
    expect(Object.keys(health?.responses ?? {})).not.toContain('401')
  })
})

import { describe, expect, test } from '@jest/globals'
import { buildOpenApiDocument } from '../../../shared/openapi.ts'

interface Described {
  responses: Record<string, { description: string } | undefined>
  security: object[]
}

const { paths } = buildOpenApiDocument() as { paths: Record<string, Record<string, Described>> }

describe('the OpenAPI document', () => {
  test.each([
    ['post', '/v1/projects/{project}/boxes', '201', 'box created'],
    ['put', '/v1/projects/{project}/boxes/{name}', '200', 'box updated'],
    ['post', '/v1/projects/{project}/data/{name}/attach', '200', 'data attached'],
    ['post', '/v1/projects/{project}/data/{name}/detach', '200', 'data detached'],
  ])('calls the outcome of %s %s what the original specification does', (method, path, status, outcome) => {
    expect(paths[path]?.[method]?.responses[status]?.description).toBe(outcome)
  })

  test('has no 401 for health, which takes any token', () => {
    const health = paths['/healthz']?.['get']
    expect(health?.security).toContainEqual({})
    expect(Object.keys(health?.responses ?? {})).not.toContain('401')
  })
})

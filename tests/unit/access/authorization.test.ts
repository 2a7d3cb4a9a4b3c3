import { describe, expect, test } from '@jest/globals'
import { createApp } from '../../../functions/app.ts'
import { createAuthenticator } from '../../../functions/auth.ts'
import { type TokenClaims } from '../../../shared/auth/tokens.ts'
import { EXAMPLES } from '../../../shared/examples/examples.ts'
import { type HttpResponse, jsonResponse } from '../../../shared/http/messages.ts'
import type { Operation } from '../../../shared/operation.ts'
import { OPERATIONS, type OperationId } from '../../../shared/routes.ts'
import { jsonOf, makeDeployment, makeRequest } from '../../helpers/front/test-front.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const PERMISSIONS = ['read', 'write', 'exec', 'ports', 'admin'] as const
const deployment = makeDeployment()
const forwarded: string[] = []
const forward = async ({ operation }: { operation: Operation }): Promise<HttpResponse> => {
  forwarded.push(operation.id)
  return jsonResponse(200, {})
}
const app = createApp({
  authenticate: createAuthenticator({ keyring: deployment.keyring, now: Date.now }),
  forward,
  forwardBytes: forward,
  bodies: null,
  turns: null,
  strangers: null,
  logger: silentLogger,
  audit: silentLogger,
  now: Date.now,
})

async function call(
  operation: Operation,
  claims: Partial<TokenClaims> | null,
  project = 'demo',
): Promise<HttpResponse> {
  const target = operation.path.replace('{project}', project).replace(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'code') return 'box_not_found'
    return ['name', 'base', 'snapshot', 'service'].includes(name) ? 'web' : `tok_${'0'.repeat(26)}`
  })
  const headers: Record<string, string> = claims ? { authorization: `Bearer ${await deployment.mint(claims)}` } : {}
  const body = operation.body ? JSON.stringify(EXAMPLES[operation.id as OperationId].body) : ''
  forwarded.length = 0
  return app(makeRequest(operation.method, target, { headers, body }))
}

function expectAllowed(operation: Operation, response: HttpResponse): void {
  if (operation.transport === 'websocket') {
    expectDenied(response, 'upgrade_required')
    return
  }
  if (operation.path.startsWith('/problems')) {
    expect([response.status, forwarded]).toEqual([200, []])
    return
  }
  expect(response.body).toBe('{}')
  expect(forwarded).toEqual([operation.id])
}

function expectDenied(response: HttpResponse, code: string): void {
  expect(jsonOf(response)).toMatchObject({ code })
  expect(forwarded).toEqual([])
}

const projectOperations = OPERATIONS.filter(({ path }) => path.includes('{project}'))

describe.each(OPERATIONS.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test(`without a token is ${operation.permission === null ? 'allowed' : 'token_missing'}`, async () => {
    const response = await call(operation, null)
    if (operation.permission === null) expectAllowed(operation, response)
    else expectDenied(response, 'token_missing')
  })

  test.each(PERMISSIONS)('with %s only is allowed if it needs that', async (permission) => {
    const response = await call(operation, { permissions: [permission], projects: '*' })
    const isEnough = [null, 'any', permission].includes(operation.permission)
    if (isEnough) expectAllowed(operation, response)
    else expectDenied(response, 'permission_denied')
  })

  test('with every permission but the one it needs is denied', async () => {
    const permissions = PERMISSIONS.filter((permission) => permission !== operation.permission)
    const response = await call(operation, { permissions })
    if (permissions.length === PERMISSIONS.length) expectAllowed(operation, response)
    else expectDenied(response, 'permission_denied')
  })

  test('with an expired token is refused, if it needs one', async () => {
    const response = await call(operation, { exp: 1 })
    if (operation.permission === null) expectAllowed(operation, response)
    else expectDenied(response, 'token_expired')
  })
})

describe.each(projectOperations.map((operation) => [operation.id, operation] as const))('%s', (_id, operation) => {
  test('is denied to a token of another project', async () => {
    expectDenied(await call(operation, { projects: ['other', 'demo2'] }), 'permission_denied')
  })

  test('is allowed to a token of this project, and to one of all projects', async () => {
    for (const projects of [['other', 'demo'], '*'] as const) {
      const response = await call(operation, { projects })
      if (operation.ofAllProjects && projects !== '*') expectDenied(response, 'permission_denied')
      else expectAllowed(operation, response)
    }
  })

  test('takes every project at once only where it lists', async () => {
    const response = await call(operation, { projects: ['demo'] }, '-')
    if (['listBoxes', 'listVolumes', 'listBases', 'listStoredBackups', 'listEvents'].includes(operation.id))
      expectAllowed(operation, response)
    else if (operation.transport === 'websocket') expectDenied(response, 'upgrade_required')
    else expectDenied(response, operation.ofAllProjects ? 'permission_denied' : 'invalid_request')
  })
})

test('what concerns all projects is for tokens of all alone', async () => {
  const shared = OPERATIONS.filter(({ ofAllProjects }) => ofAllProjects)
  expect(shared.map(({ id }) => id)).toEqual(expect.arrayContaining(['startScrub', 'updateQuota']))
  for (const operation of shared) {
    expect(operation.permission).toBe('admin')
    expectDenied(await call(operation, { projects: ['demo'] }), 'permission_denied')
    expectAllowed(operation, await call(operation, { projects: '*' }))
  }
})

test('every operation with a permission in a project is tried', () => {
  expect(projectOperations.length).toBeGreaterThan(5)
  for (const { permission } of projectOperations) expect([...PERMISSIONS, 'any']).toContain(permission)
})

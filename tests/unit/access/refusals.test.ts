import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { authorize, type TokenScope, whatIsBeyond } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { permissionDenied, quotaExceeded, someOf } from '../../../shared/refusals.ts'

const ROOT = join(import.meta.dirname, '../../..')
const REFUSALS = 'shared/refusals.ts'
const own: TokenScope = { projects: ['demo'], permissions: ['read', 'exec'], exp: 100_000 }

function detailOf(act: () => void): string {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError)
    expect((error as ServiceError).status).toBe(403)
    return (error as Error).message
  }
  throw new Error('It is not refused.')
}

describe('a refusal for want of a right names the field, the limit and the way out', () => {
  test.each([
    [
      { permission: 'write' } as const,
      'demo',
      /`permissions`: .*"write".*read, exec\. Use a token with that permission/,
    ],
    [{ permission: 'read' } as const, 'other', /`projects`: .*not for this project, it is for demo\. Use a token of/],
    [
      { permission: 'read', ofAllProjects: true } as const,
      'demo',
      /`projects`: .*all projects \("\*"\).*is for demo\. Use the token of an operator/,
    ],
  ])('%j', (operation, project, expected) => {
    expect(detailOf(() => authorize(operation, { project }, own))).toMatch(expected)
  })

  test.each([
    [{ permissions: ['write'] } as const, '`permissions`: at most read, exec, as of the token that you use.'],
    [{ projects: ['other'] } as const, '`projects`: at most demo, as of the token that you use.'],
    [{ projects: '*' } as const, '`projects`: at most demo, as of the token that you use.'],
    [
      { exp: null },
      '`expires_in_seconds`: at most 40, because the token that you use expires on 1970-01-01T00:01:40.000Z.',
    ],
    [{ exp: 100_001 }, /^`expires_in_seconds`: at most 40,/],
    [{}, null],
  ])('of a token that is created with %j', (change, expected) => {
    const beyond = whatIsBeyond({ ...own, ...change }, own, 60_000)
    if (expected instanceof RegExp) expect(beyond).toMatch(expected)
    else expect(beyond).toBe(expected)
  })
})

test('long lists are shown in part', () => {
  expect(someOf([])).toBe('none')
  expect(someOf(['a', 'b'])).toBe('a, b')
  expect(someOf(Array.from({ length: 1000 }, (_, i) => `p${i}`))).toBe('p0, p1, p2, p3, p4 and 995 more')
})

test('both kinds of refusal have a reason and a way out', () => {
  expect(permissionDenied('No.', 'Ask.')).toMatchObject({ code: 'permission_denied', message: 'No. Ask.' })
  expect(quotaExceeded('Full.', 'Delete one.')).toMatchObject({ code: 'quota_exceeded', message: 'Full. Delete one.' })
})

test('every refusal of the service is made by them, so that none lacks a way out', () => {
  const files = ['agent', 'functions', 'shared'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const sources = files.filter((file) => file.endsWith('.ts') && file !== REFUSALS)
  expect(sources.length).toBeGreaterThan(500)
  const own = /new ServiceError\(\s*'(permission_denied|quota_exceeded)'/
  expect(sources.filter((file) => own.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import ts from 'typescript'
import { haproxyConfig } from '../../../agent/drivers/edge/config.ts'
import { edgePaths } from '../../../agent/drivers/edge/names.ts'
import { explainFault } from '../../../agent/drivers/files/faults.ts'
import { kubeRefusalError } from '../../../agent/lib/kube/errors.ts'
import { judgeSession } from '../../../shared/auth/session.ts'
import { authorize, type TokenScope, whatIsBeyond } from '../../../shared/auth/tokens.ts'
import { asServiceError, ERROR_STATUSES, ServiceError } from '../../../shared/errors.ts'
import { permissionDenied, quotaExceeded, refusal, someOf } from '../../../shared/refusals.ts'

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
      /`permissions`: .*"write".*read, exec\. Ask for a token with that permission/,
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

test('every kind of refusal has a reason and a way out', () => {
  expect(permissionDenied('No.', 'Ask.')).toMatchObject({ code: 'permission_denied', message: 'No. Ask.' })
  expect(quotaExceeded('Full.', 'Delete one.')).toMatchObject({ code: 'quota_exceeded', message: 'Full. Delete one.' })
  const options = { headers: { 'Retry-After': '1' }, cause: 'x' }
  expect(refusal('rate_limited', ['Too many.', 'Wait.'], options)).toMatchObject({
    ...{ code: 'rate_limited', status: 429, message: 'Too many. Wait.' },
    ...{ headers: { 'Retry-After': '1' }, cause: 'x' },
  })
})

/** At least two sentences, with the reason and the way out. */
const TWO_SENTENCES = /^.{8,}[.:;!] ["`A-Z].{2,}\.$/s
/** Statuses whose cause a client or the operator can remove. */
const REMOVABLE: ReadonlySet<number> = new Set([403, 409, 412, 413, 429, 507])
const CODES = [...ERROR_STATUSES].filter(([, status]) => REMOVABLE.has(status)).map(([code]) => code)
const MADE_BY = ['permissionDenied', 'quotaExceeded', 'refusal']

describe('every refusal that a client can do something about', () => {
  const files = ['agent', 'functions', 'shared'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const sources = files
    .filter((file) => file.endsWith('.ts') && file !== REFUSALS)
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

  test('is made with a way out, not as a plain error', () => {
    expect(sources.length).toBeGreaterThan(500)
    expect(CODES.length).toBeGreaterThan(25)
    const plain = new RegExp(`new ServiceError\\(\\s*'(${CODES.join('|')})'`)
    const found = sources.filter(({ text }) => plain.test(text)).map(({ file }) => file)
    // Two exceptions: the error for a full disk that no other code converted, and an error that says what to set.
    expect(found).toEqual(['agent/core/common/nesting.ts', 'shared/errors.ts'])
  })

  test.each(
    sources.filter(({ text }) => /\b(refusal|permissionDenied|quotaExceeded)\(/.test(text)).map(({ file }) => file),
  )('says it in sentences: %s', (file) => {
    const text = sources.find((each) => each.file === file)?.text ?? ''
    const wrong = waysOut(file, text).filter((wayOut) => !/^["`A-Z$].*\.$/s.test(wayOut))
    expect(wrong).toEqual([])
  })

  test.each([['ENOTDIR'], ['EISDIR'], ['ENOTEMPTY'], ['EEXIST'], ['ENOSPC'], ['EDQUOT'], ['EAGAIN']])(
    'of a path: %s',
    (code) => {
      const fault = explainFault('/a', Object.assign(new Error('failed'), { code }))
      expect(fault).toBeInstanceOf(ServiceError)
      expect((fault as ServiceError).message).toMatch(TWO_SENTENCES)
    },
  )

  test('of a full disk, of a page of another origin, and of a quota of the cluster', () => {
    const full = asServiceError(Object.assign(new Error('failed'), { code: 'ENOSPC' }))
    const foreign = judgeSession({ target: '/', headers: { origin: 'http://other', host: 'own' } }, { signsIn: false })
    const action = { verb: 'create', resource: 'pods', namespace: 'boxes' } as const
    const status = { status: 403, reason: 'Forbidden', message: 'exceeded quota: all', kind: 'pods' }
    const details = [full.message, 'detail' in foreign ? foreign.detail : '', kubeRefusalError(action, status).message]
    for (const detail of details) expect(detail).toMatch(TWO_SENTENCES)
  })

  test('of HAProxy itself', () => {
    const answers = haproxyAnswers().filter(({ status }) => REMOVABLE.has(status) || status === 431)
    expect(answers.map(({ status }) => status).toSorted()).toEqual([403, 403, 429, 429, 429, 429, 431])
    for (const { detail } of answers) expect(detail).toMatch(TWO_SENTENCES)
  })
})

/** Returns the ways out that a source has as literals, without their variables. */
function waysOut(file: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const second = MADE_BY.includes(node.expression.getText()) ? node.arguments[1] : undefined
      const wayOut = second !== undefined && ts.isArrayLiteralExpression(second) ? second.elements[1] : second
      if (wayOut !== undefined && ts.isStringLiteralLike(wayOut)) found.push(wayOut.text)
      else if (wayOut !== undefined && ts.isTemplateExpression(wayOut)) found.push(wayOut.getText().slice(1, -1))
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  return found
}

/** Returns the problems that HAProxy answers without the agent. */
function haproxyAnswers(): { status: number; detail: string }[] {
  const cells = { host: '127.0.0.1', port: 9, tls: null, secrets: ['a'], digests: ['b'], map: '/run/x/cells.map' }
  const { text } = haproxyConfig(
    {
      ...{ paths: edgePaths('/run/x'), host: '127.0.0.1', port: 8, frontProxy: null, cells },
      ...{ signInHost: 'sign-in.localhost', scheme: 'http', certificates: null, tokenPrefixes: ['x_'] },
      ...{ trustedProxies: ['10.0.0.0/8'], refusalMark: 'secret', lua: { path: '/run/x/gate.lua', fingerprint: '' } },
      limits: { connections: 100, connectionsPerSecond: 10, questionsPerSecond: 10 },
    },
    1,
  )
  return [...text.matchAll(/ status (\d+) .*"detail":"((?:[^"\\]|\\.)*)"/g)].map(([, status, detail = '']) => ({
    status: Number(status),
    detail,
  }))
}

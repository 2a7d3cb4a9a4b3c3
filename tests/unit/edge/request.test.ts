import { describe, expect, test } from '@jest/globals'
import { hostNameOf } from '../../../agent/core/common/urls.ts'
import {
  isFromOwnPage,
  isNavigation,
  nonceOf,
  safeTarget,
  sessionCookie,
  sessionOf,
} from '../../../agent/handlers/edge/request.ts'
import { prefersPage } from '../../../shared/http/page.ts'
import { BOX_HOST, edgeRequest } from '../../helpers/edge/backend.ts'
import { createRandom, readSeed } from '../../helpers/sample.ts'

const VALUE = 'A'.repeat(42)
const session = `${VALUE}a`
const nonce = `${VALUE}b`

describe('the cookies of a request', () => {
  test.each([
    ['alone', `__Host-boxyard=${session}`, session],
    ['among others', `a=1; __Host-boxyard=${session}; b=2`, session],
    ['without spaces', `a=1;__Host-boxyard=${session};b=2`, session],
    ['after that of a sign-in', `__Host-boxyard-nonce=${nonce}; __Host-boxyard=${session}`, session],
    ['the first of two', `__Host-boxyard=${session}; __Host-boxyard=${nonce}`, session],
    ['of another form', '__Host-boxyard=x', undefined],
    ['in quotes', `__Host-boxyard="${session}"`, undefined],
    ['in the value of another', `a=__Host-boxyard=${session}`, undefined],
    ['of another case', `__host-boxyard=${session}`, undefined],
    ['a name that only ends so', `x__Host-boxyard=${session}`, undefined],
    ['empty', '', undefined],
  ])('hold a session: %s', (_what, header, expected) => {
    expect(sessionOf(header)).toBe(expected)
  })

  test('have the nonce of a sign-in', () => {
    expect(nonceOf(`__Host-boxyard=${session}; __Host-boxyard-nonce=${nonce}`)).toBe(nonce)
    expect(nonceOf(`__Host-boxyard=${session}`)).toBeUndefined()
  })

  test('of random bytes never give a malformed secret', () => {
    const random = createRandom(readSeed())
    const pieces = ['__Host-boxyard', '=', ';', ' ', '-nonce', session, '"', ',', '\t', 'x', '%3d', '']
    for (let round = 0; round < 5_000; round++) {
      const header = Array.from({ length: 8 }, () => pieces[Math.floor(random() * pieces.length)]).join('')
      const found = sessionOf(header)
      if (found === undefined) continue
      expect(found).toMatch(/^[\w-]{43}$/)
      expect(header.replace(/=\s+/g, '=')).toContain(`__Host-boxyard=${found}`)
    }
  })

  test('are set for this host alone, and for no script', () => {
    expect(sessionCookie(session, 60.9)).toBe(
      `__Host-boxyard=${session}; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax`,
    )
  })
})

describe('the target after a sign-in', () => {
  test.each([
    '/',
    '/a/b?c=d&e=%2F%2Fevil.test',
    '/a//b',
    '/@evil.test',
    '/?next=https://evil.test',
    '/.boxyard',
    '/a?/../.boxyard/x',
    '/%',
    '/a%zz/./b',
    '/%252520',
    `/?next=/%${'25'.repeat(500)}`,
    "/'()",
  ])('is %s as it was', (target) => expect(safeTarget(target)).toBe(target))

  test.each([
    '//evil.test',
    '/\\evil.test',
    '\\/evil.test',
    'https://evil.test/',
    'evil.test',
    '/\t/evil.test',
    '/a\r\nset-cookie: x=1',
    '/ä',
    '/a b',
    '/a\\..\\b',
    '/.boxyard/sign-out',
    '/.boxyard/..%5csign-out',
    '/./.boxyard/sign-out',
    '/%2e/.boxyard/sign-out',
    '/a/../.boxyard/sign-out',
    '/a/%2E%2e/.boxyard/sign-out',
    '/%2eboxyard/sign-out',
    '/%252eboxyard/sign-out',
    '/.boxyard%2fsign-out',
    '/.//.boxyard/sign-out',
    '/a%5c..%5c.boxyard/sign-out',
    '/.BoxYard/sign-out',
    `/${'a'.repeat(2_048)}`,
    '/%25252520',
    `/%${'25'.repeat(1_000)}2eboxyard/`,
    '',
    null,
    undefined,
  ])('is the first page for %j', (target) => expect(safeTarget(target)).toBe('/'))

  test('is on the same host for any input', () => {
    const random = createRandom(readSeed())
    const pieces = [
      '/',
      '\\',
      '@',
      ':',
      '?',
      '#',
      'evil.test',
      'https:',
      '.',
      '..',
      '%2f',
      '%5c',
      '\t',
      '\n',
      ' ',
      'a',
      ';',
      '/.boxyard/',
    ]
    for (let round = 0; round < 3_000; round++) {
      const target = Array.from({ length: 7 }, () => pieces[Math.floor(random() * pieces.length)]).join('')
      const led = new URL(safeTarget(target), `https://${BOX_HOST}/`)
      expect(led.origin).toBe(`https://${BOX_HOST}`)
      expect(led.username).toBe('')
      expect(led.pathname.startsWith('/.boxyard/')).toBe(false)
    }
  })
})

describe('the preferred answer of a client', () => {
  test.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['text/html', true],
    ['TEXT/HTML;q=0.5', true],
    ['application/json, text/html;q=0.9', false],
    ['text/html;q=0', false],
    ['text/html;q=x', false],
    ['*/*', false],
    ['application/json', false],
    ['', false],
    [undefined, false],
  ])('%j: a page is %s', (accept, expected) => expect(prefersPage(accept)).toBe(expected))

  test('is a page where a person opens one', () => {
    expect(isNavigation(edgeRequest({ browses: true }))).toBe(true)
    expect(isNavigation(edgeRequest({ headers: { accept: 'text/html' } }))).toBe(true)
    expect(isNavigation(edgeRequest())).toBe(false)
    expect(isNavigation(edgeRequest({ browses: true, method: 'POST' }))).toBe(false)
    expect(isNavigation(edgeRequest({ browses: true, method: 'HEAD' }))).toBe(false)
    expect(isNavigation(edgeRequest({ browses: true, headers: { upgrade: 'websocket' } }))).toBe(false)
    expect(isNavigation(edgeRequest({ browses: true, headers: { 'sec-fetch-mode': 'cors' } }))).toBe(false)
  })
})

const own = `https://${BOX_HOST}`
const page = { accept: 'text/html,*/*;q=0.8' }
const sibling = 'https://web2--demo.boxes.test'

describe('a request that a cookie vouches for', () => {
  const opens = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const sockets = { upgrade: 'websocket' }

  test.each([
    ['GET', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors' }, true],
    ['GET', { 'sec-fetch-site': 'none', ...opens }, true],
    ['POST', { 'sec-fetch-site': 'same-origin', origin: own }, true],
    ['POST', { 'sec-fetch-site': 'same-origin' }, false],
    ['POST', { 'sec-fetch-site': 'same-site', ...opens, origin: sibling }, false],
    ['POST', { 'sec-fetch-site': 'cross-site', ...opens, origin: own }, false],
    ...['same-site', 'cross-site'].flatMap((site): [string, Record<string, string>, boolean][] => [
      ['GET', { 'sec-fetch-site': site, ...opens }, true],
      ['HEAD', { 'sec-fetch-site': site, ...opens }, true],
      ['GET', { 'sec-fetch-site': site, ...opens, 'sec-fetch-dest': 'iframe' }, false],
      ['GET', { 'sec-fetch-site': site, ...opens, 'sec-fetch-dest': 'object' }, false],
      ['GET', { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }, false],
      ['GET', { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'document' }, false],
      ['GET', { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', ...page }, false],
      ['HEAD', { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors', origin: own }, false],
      ['OPTIONS', { 'sec-fetch-site': site, 'sec-fetch-mode': 'cors' }, false],
      ['GET', { 'sec-fetch-site': site }, false],
      ['GET', { 'sec-fetch-site': site, ...opens, ...sockets, origin: own }, false],
    ]),
    ['GET', { 'sec-fetch-site': 'same-origin, same-site' }, false],
    ['GET', { 'sec-fetch-site': '' }, false],
    ['GET', { 'sec-fetch-site': 'none', ...sockets }, false],
  ])('%s %j may pass: %s', (method, headers: Record<string, string>, expected) => {
    expect(isFromOwnPage(edgeRequest({ method, headers }))).toBe(expected)
  })
})

describe('one of a browser without `Sec-Fetch-Site`', () => {
  test.each([
    ['GET', {}, false],
    ['GET', page, true],
    ['GET', { referer: `${own}/a?b` }, true],
    ['GET', { referer: `${sibling}/`, ...page }, true],
    ['GET', { referer: `${sibling}/` }, false],
    ['GET', { referer: `${own}.evil.test/` }, false],
    ['GET', { referer: 'none' }, false],
    ['GET', { origin: own }, true],
    ['GET', { origin: sibling, ...page, referer: `${own}/` }, false],
    ['GET', { origin: 'null', ...page }, false],
    ['GET', { accept: '*/*,text/html' }, false],
    ['HEAD', { origin: 'https://evil.test' }, false],
    ['POST', { origin: own }, true],
    ['POST', { origin: `${own}:8443` }, true],
    ['POST', page, false],
    ['POST', { referer: `${own}/` }, false],
    ['POST', { origin: 'null' }, false],
    ['POST', { origin: `http://${BOX_HOST}` }, false],
    ['POST', { origin: sibling }, false],
    ['POST', { origin: `${own}.evil.test` }, false],
    ['POST', { origin: `https://${BOX_HOST}@evil.test` }, false],
    ['DELETE', { origin: 'https://boxes.test' }, false],
    ['GET', { upgrade: 'websocket' }, false],
    ['GET', { upgrade: 'websocket', origin: 'https://evil.test' }, false],
    ['GET', { upgrade: 'websocket', origin: own }, true],
  ])('%s %j may pass: %s', (method, headers: Record<string, string>, expected) => {
    expect(isFromOwnPage(edgeRequest({ method, headers }))).toBe(expected)
  })
})

describe('a host name', () => {
  test.each([
    ['Web--Demo.Boxes.test:8081', 'web--demo.boxes.test'],
    ['web--demo.boxes.test.', 'web--demo.boxes.test'],
    ['user@web.test', null],
    ['web.test/path', null],
    ['[::1]:80', null],
    ['-a.test', null],
    ['a'.repeat(254), null],
    ['', null],
    [undefined, null],
  ])('%j is %j', (given, expected) => expect(hostNameOf(given)).toBe(expected))
})

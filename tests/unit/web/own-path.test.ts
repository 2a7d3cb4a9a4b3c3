import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { ownPath, webAddress } from '../../../web/src/api/own-path.ts'

describe('a path of this origin', () => {
  test.each([
    '/',
    '/boxes',
    '/boxes?project=demo&q=team%3Da',
    '/boxes/demo/web/files?path=/srv//a&to=http://evil.test',
    '/boxes/demo/web/files?path=%2Fa%0Ab',
    '/boxes/demo/web#part',
    '/boxes/demo/sign-in',
    '/sign-in-x',
    '/a@evil.test',
    '/a:80',
    '/javascript:alert(1)',
    `/boxes?q=${'x'.repeat(2_000)}`,
  ])('%s is gone to as it is', (path) => expect(ownPath(path)).toBe(path))

  test('is encoded as browsers do', () => {
    expect(ownPath('/boxes?q=grün')).toBe('/boxes?q=gr%C3%BCn')
    expect(ownPath('/böxes')).toBe('/b%C3%B6xes')
  })
})

describe('what leads elsewhere is the overview:', () => {
  test.each([
    ...['http://evil.test', 'https://evil.test/boxes', 'HTTP://evil.test', 'http:evil.test', 'http:/evil.test'],
    ...['//evil.test', '///evil.test', '//evil.test/%2e%2e', '/\\evil.test', '\\\\evil.test', '\\/evil.test', '/a\\b'],
    ...[
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'java\tscript:alert(1)',
      'data:text/html,x',
      'blob:x',
      'ftp://evil.test',
    ],
    ...[
      '/\t/evil.test',
      '/\n/evil.test',
      '/\r/evil.test',
      '\t//evil.test',
      ' //evil.test',
      '/ /evil.test',
      '/\u0000/evil.test',
    ],
    ...['/a\tb', '/a\u007fb', '/a\u2028b', '\ufeff//evil.test', '/\u00a0/x\u0085'],
    ...[
      '/.//evil.test',
      '/..//evil.test',
      '/a/..//evil.test',
      '/./\\evil.test',
      '/%2e//evil.test',
      '/%2E%2E//evil.test',
    ],
    ...[
      '/%2f/evil.test',
      '/%2Fevil.test/',
      '/%2f%2fevil.test',
      '/%5cevil.test',
      '/%5C%5Cevil.test',
      '/%252f/evil.test',
    ],
    ...[
      '/%25252f/evil.test',
      '/%2525252525252f/evil.test',
      '/%09/evil.test',
      '/%0a/evil.test',
      '/%00',
      '/a/%2e%2e/%2fevil.test',
    ],
    ...[
      '/%zz',
      '/%',
      '/%c0%af/evil.test',
      '/a//evil.test',
      'evil.test',
      'boxes',
      './boxes',
      '../boxes',
      '?to=x',
      '#x',
      '',
    ],
    ...['http://this.invalid/boxes', 'http://this.invalid', '//this.invalid/boxes', 'http://user@this.invalid/'],
    ...['@evil.test', '.evil.test', ':80/x'],
  ])('%j', (given) => expect(ownPath(given)).toBe('/'))

  test.each([
    ...[
      '/sign-in',
      '/sign-in/',
      '/Sign-In',
      '/sign-in?to=/boxes',
      '/sign-in#ticket',
      '/%73ign-in',
      '/sign%2Din',
      '/x/../sign-in',
    ],
    ...['/sign-in?to=%2Fsign-in', '/./sign-in'],
  ])('the sign-in itself, as %s', (given) => expect(ownPath(given)).toBe('/'))

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 1],
    ['true', true],
    ['a list', ['/boxes']],
    ['a list of another origin', ['//evil.test', '/']],
    ['an object', { href: '/boxes' }],
    ['an object that reads as a path', { toString: () => '/boxes', length: 6 }],
    ['a text as an object', new String('/boxes')],
    ['a path that is too long', `/${'x'.repeat(2_048)}`],
    ['one that becomes too long', `/boxes?q=${'ü'.repeat(2_000)}`],
  ])('%s', (_what, given) => expect(ownPath(given)).toBe('/'))
})

test.each([
  ['https://web--demo.example.org/', true],
  ['http://web--demo.localhost:8081/a?b=c', true],
  ['javascript:alert(1)', false],
  ['java\nscript:alert(1)', false],
  ['data:text/html,x', false],
  ['http://user:secret@evil.test/', false],
  ['//evil.test', false],
  ['/boxes', false],
  [null, false],
  [['https://a.test/'], false],
])('the address %j may be linked to: %s', (given, isTaken) => expect(webAddress(given)).toBe(isTaken ? given : null))

describe('the pages of the console', () => {
  const files = readdirSync(join(ROOT, 'web/src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.tsx?$/.test(path),
  )
  const linesOf = (path: string): string[] => readFileSync(join(ROOT, 'web/src', path), 'utf8').split('\n')
  const found = (pattern: RegExp): string[] =>
    files.flatMap((path) => linesOf(path).flatMap((line) => (pattern.test(line) ? [`${path}: ${line.trim()}`] : [])))

  test('go to an address that is no page of their own table by that function alone', () => {
    const navigations = found(/(navigate|redirect)\(\{.*\bhref:/)
    expect(navigations.length).toBeGreaterThan(2)
    expect(navigations.filter((line) => !/href: ownPath\(/.test(line))).toEqual([])
  })

  test('leave by no other way', () => {
    const ways =
      /\blocation\.(href|hash|search) *=[^=]|location\.(assign|replace)\(|window\.open\(|(?<!const )\blocation *= /
    expect(found(ways)).toEqual([
      "api/open-tab.ts: if (address !== null) window.open(address, '_blank', 'noopener,noreferrer')",
      // The tab opens empty and then goes to an address that `webAddress` has checked.
      "api/open-tab.ts: const tab = window.open('', '_blank')",
      'api/open-tab.ts: else tab?.location.replace(address)',
    ])
  })

  test('link by an expression only to what was checked', () => {
    const links = found(/\b(href|src|formAction)=\{|<form[^>]*\baction=|\.(href|src) = /)
    expect(links.length).toBeGreaterThan(2)
    const checked = /href=\{`\/problems\/\$\{encodeURIComponent\(|(href|src)=\{address\}|link\.href = address/
    expect(links.filter((line) => !checked.test(line))).toEqual([])
  })
})

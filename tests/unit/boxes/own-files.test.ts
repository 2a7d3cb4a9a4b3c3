import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { followResolvers, isUnchanged, markedText, writeOwnFiles } from '../../../agent/drivers/boxes/own-files.ts'

let root: string
const read = (): string => readFileSync(`${root}/etc/resolv.conf`, 'utf8')

beforeEach(() => {
  root = mkdtempSync('/tmp/boxyard-own-')
  mkdirSync(`${root}/etc`)
})
afterEach(() => rmSync(root, { recursive: true }))

test('resolvers follow those of the host until the box changes its file', () => {
  writeOwnFiles(root, { hostname: 'web', resolvConf: 'nameserver 192.0.2.1\n' }, true)
  expect(read()).toBe(markedText('nameserver 192.0.2.1\n'))
  followResolvers(root, 'nameserver 192.0.2.2\n')
  expect(read()).toBe(markedText('nameserver 192.0.2.2\n'))
  writeFileSync(`${root}/etc/resolv.conf`, `${read()}options ndots:2\n`)
  const changed = read()
  followResolvers(root, 'nameserver 192.0.2.3\n')
  expect(read()).toBe(changed)
  rmSync(`${root}/etc/resolv.conf`)
  followResolvers(root, 'nameserver 192.0.2.3\n')
  expect(() => read()).toThrow('ENOENT')
})

test.each(['', '\n', 'nameserver 192.0.2.1\n', '# Boxyard\n', markedText('a\n').slice(1), `${markedText('a\n')}\n`])(
  '%j is not as it was written',
  (text) => {
    expect(isUnchanged(text)).toBe(false)
  },
)

test('a root that is gone, or whose /etc is a file, is left as it is', () => {
  followResolvers(`${root}/none`, 'nameserver 192.0.2.1\n')
  rmSync(`${root}/etc`, { recursive: true })
  writeFileSync(`${root}/etc`, 'file')
  writeOwnFiles(root, { hostname: 'web', resolvConf: '' }, true)
  expect(readFileSync(`${root}/etc`, 'utf8')).toBe('file')
})

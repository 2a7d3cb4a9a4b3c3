import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  followResolvers,
  followResolversIn,
  hostsWith,
  isUnchanged,
  markedText,
  writeOwnFiles,
} from '../../../agent/drivers/boxes/own-files.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const OWN = { hostname: 'web', address: '10.213.0.5', resolvConf: '' }
let root: string
const read = (): string => readFileSync(`${root}/etc/resolv.conf`, 'utf8')

beforeEach(() => {
  root = mkdtempSync('/tmp/boxyard-own-')
  mkdirSync(`${root}/etc`)
})
afterEach(() => rmSync(root, { recursive: true }))

test('resolvers follow those of the host until the box changes its file', () => {
  writeOwnFiles(root, { ...OWN, resolvConf: 'nameserver 192.0.2.1\n' }, true)
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
  writeOwnFiles(root, { ...OWN, resolvConf: '' }, true)
  expect(readFileSync(`${root}/etc`, 'utf8')).toBe('file')
})

const etcLink = (target: string) => (): void => {
  rmSync(`${root}/etc`, { recursive: true })
  symlinkSync(target, `${root}/etc`)
}
const make = (program: string, ...words: string[]): void => void execFileSync(program, words)
const hostile: [title: string, make: () => unknown, isReported: boolean][] = [
  ['a name that is too long', etcLink('a'.repeat(300)), true],
  ['a link to itself', etcLink('etc'), false],
  ['a link that leads out', etcLink('/../../etc'), false],
  ['a link to a process', etcLink('/proc/self/root/etc'), false],
  ['a whiteout', () => make('mknod', `${root}/etc/resolv.conf`, 'c', '0', '0'), true],
  ['a device without a driver', () => make('mknod', `${root}/etc/resolv.conf`, 'b', '510', '1'), true],
  ['a fifo', () => make('mkfifo', `${root}/etc/resolv.conf`), false],
  ['a directory', () => mkdirSync(`${root}/etc/resolv.conf/full`, { recursive: true }), false],
]

test.each(hostile)('%s in a root is no error, and the other boxes still follow', (_title, prepare, isReported) => {
  prepare()
  const other = `${root}/other`
  mkdirSync(`${other}/etc`, { recursive: true })
  writeOwnFiles(other, { ...OWN, resolvConf: 'a\n' }, true)
  const logged: unknown[] = []
  const logger = { ...silentLogger, warn: (_message: string, facts?: object) => void logged.push(facts) }
  const boxes = [
    { id: 'box_hostile', rootPath: root },
    { id: 'box_gone', rootPath: undefined },
    { id: 'box_other', rootPath: other },
  ]
  followResolversIn(boxes, 'b\n', logger)
  expect(readFileSync(`${other}/etc/resolv.conf`, 'utf8')).toBe(markedText('b\n'))
  expect(logged).toEqual(isReported ? [{ box: 'box_hostile', error: expect.anything() }] : [])
  for (const isFirst of [false, true])
    expect(() => writeOwnFiles(root, { ...OWN, resolvConf: '' }, isFirst)).not.toThrow()
})

test('a socket in the place of a file is replaced at the first start, and left as it is later', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(`${root}/etc/resolv.conf`, resolve))
  expect(followResolvers(root, 'a\n')).toMatchObject({ code: 'ENXIO' })
  expect(writeOwnFiles(root, { ...OWN, resolvConf: 'a\n' }, true)).toBeNull()
  expect(read()).toBe(markedText('a\n'))
  await new Promise((resolve) => server.close(resolve))
})

describe('the hosts file', () => {
  const path = (): string => `${root}/etc/hosts`
  const hosts = (): string => readFileSync(path(), 'utf8')
  const LOCAL = '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n'
  const start = (isFirst: boolean, own: object = {}): unknown => writeOwnFiles(root, { ...OWN, ...own }, isFirst)

  test('has the name of the box at the address that each start gives, beside lines of its root', () => {
    start(true)
    expect(hosts()).toBe(`${LOCAL}10.213.0.5 web # this box, by Boxyard\n`)
    writeFileSync(path(), `192.0.2.1 before\n${hosts()}192.0.2.2 after`)
    start(false, { address: '10.213.0.6' })
    const text = `192.0.2.1 before\n${LOCAL}10.213.0.6 web # this box, by Boxyard\n192.0.2.2 after`
    expect(hosts()).toBe(text)
    const { ino } = statSync(path())
    start(false, { address: '10.213.0.6' })
    expect(statSync(path()).ino).toBe(ino)
    start(true, { address: '10.213.0.7', hostname: 'fork' })
    expect(hosts()).toBe(text.replace('10.213.0.6 web', '10.213.0.7 fork'))
  })

  test('is written to a box that never had one, and no other', () => {
    writeFileSync(path(), '')
    start(false)
    expect(hosts()).toContain('10.213.0.5 web')
    for (const text of ['192.0.2.1 mine\n', '10.213.0.5 web\n']) {
      writeFileSync(path(), text)
      start(false)
      expect(hosts()).toBe(text)
    }
    rmSync(path())
    start(false)
    expect(() => hosts()).toThrow('ENOENT')
    start(true)
    expect(hosts()).toContain('10.213.0.5 web')
  })

  test.each([
    ['127.0.0.1 localhost\n', '127.0.0.1 localhost\n'],
    ['127.0.0.1\tme localhost', '127.0.0.1\tme localhost\n'],
    ['192.0.2.1 localhost.example\n# a localhost\n\n', `${LOCAL}192.0.2.1 localhost.example\n# a localhost\n`],
  ])('of a new root with %j keeps its lines', (present, kept) => {
    expect(hostsWith(present, OWN, true)).toBe(`${kept}10.213.0.5 web # this box, by Boxyard\n`)
  })

  test('that is long is left as it is', () => {
    writeFileSync(path(), '#'.repeat(256 * 1024 + 1))
    start(true)
    expect(statSync(path()).size).toBe(256 * 1024 + 1)
  })

  test.each([
    ['a link', () => symlinkSync('/etc/hostname', path())],
    ['a fifo', () => make('mkfifo', path())],
    ['a device', () => make('mknod', path(), 'c', '0', '0')],
  ])('where %s is in its place is written at the first start only', (_what, prepare) => {
    prepare()
    expect(start(false)).toBeNull()
    expect(lstatSync(path()).isFile()).toBe(false)
    expect(start(true)).toBeNull()
    expect(lstatSync(path()).isFile()).toBe(true)
    expect(hosts()).toBe(`${LOCAL}10.213.0.5 web # this box, by Boxyard\n`)
  })

  test('of newlines takes no more time than any other', () => {
    const begin = performance.now()
    hostsWith(`${'\n'.repeat(256 * 1024)}x`, OWN, true)
    // An earlier version took minutes.
    expect(performance.now() - begin).toBeLessThan(5_000)
  })

  test('keeps its bytes that are not UTF-8', () => {
    const line = Buffer.from('# caf\xe9\n', 'latin1')
    writeFileSync(path(), line)
    start(true)
    expect(readFileSync(path()).includes(line)).toBe(true)
  })

  test('that cannot be written keeps back no other file', () => {
    mkdirSync(`${path()}/full`, { recursive: true })
    expect(start(true)).toBeNull()
    expect(readFileSync(`${root}/etc/hostname`, 'utf8')).toBe('web\n')
    expect(read()).toBe(markedText(''))
  })

  test('of a pod is mounted, and stays empty on its disk', () => {
    start(true, { address: null })
    expect(() => hosts()).toThrow('ENOENT')
  })
})

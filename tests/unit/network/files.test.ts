import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  createHostsFiles,
  hostsText,
  parseHosts,
  parseResolvConf,
  resolvConfText,
  writeInPlace,
} from '../../../agent/drivers/network/files.ts'
import { parseRoutes } from '../../../agent/drivers/network/host.ts'
import { checked, lazyNative } from '../../../agent/lib/syscalls/libc.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync('/tmp/boxyard-hosts-')
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('hosts files', () => {
  test('name the loopback addresses and every box, in order', () => {
    const hosts = [
      { name: 'web', address: '10.213.0.9' },
      { name: 'db', address: '10.213.0.12' },
      { name: 'localhost', address: '10.213.0.13' },
      { name: 'ip6-loopback', address: '10.213.0.14' },
    ]
    expect(hostsText(hosts)).toBe(
      '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n10.213.0.12 db\n10.213.0.9 web\n',
    )
  })

  test('change in place, visible to open descriptors, and go with the last box', () => {
    const files = createHostsFiles(`${directory}/hosts`, () => false)
    const [one, two] = [
      { name: 'one', address: '10.213.0.1' },
      { name: 'a-much-longer-name', address: '10.213.0.2' },
    ]
    const path = files.add('demo', one)
    const inode = statSync(path).ino
    const fd = openSync(path, 'r')
    expect(files.add('demo', two)).toBe(path)
    files.remove(two.address)
    expect(readFileSync(path, 'utf8')).toBe(hostsText([one]))
    expect(statSync(path).ino).toBe(inode)
    expect(readSync(fd, Buffer.alloc(500), 0, 500, 0)).toBe(hostsText([one]).length)
    files.remove(one.address)
    files.remove(one.address)
    expect(readdirSync(`${directory}/hosts`)).toEqual([])
  })

  test('of an earlier process keep their inode and the boxes that still run, until these leave', () => {
    const before = createHostsFiles(directory, () => false)
    const path = before.add('demo', { name: 'one', address: '10.213.0.1' })
    before.add('demo', { name: 'two', address: '10.213.0.2' })
    before.add('gone', { name: 'three', address: '10.213.0.3' })
    const inode = statSync(path).ino
    const after = createHostsFiles(directory, (address) => address === '10.213.0.1')
    expect(readdirSync(directory)).toEqual(['demo'])
    after.add('demo', { name: 'four', address: '10.213.0.4' })
    expect(statSync(path).ino).toBe(inode)
    expect(parseHosts(readFileSync(path, 'utf8')).map(({ name }) => name)).toEqual(['four', 'one'])
    after.remove('10.213.0.1')
    expect(parseHosts(readFileSync(path, 'utf8')).map(({ name }) => name)).toEqual(['four'])
  })

  test('stay inside their directory', () => {
    const files = createHostsFiles(directory, () => false)
    expect(() => files.add('../demo', { name: 'one', address: '10.213.0.1' })).toThrow('file name')
  })
})

describe('writeInPlace', () => {
  test('never shows old lines beside new ones, even before the file is truncated', () => {
    const fd = checked(memoryFile()('boxyard-test', MFD_ALLOW_SEALING), 'memfd_create')
    try {
      const path = `/proc/self/fd/${fd}`
      writeInPlace(path, 'old one\nold two\nold three\n')
      checked(control()(fd, F_ADD_SEALS, F_SEAL_SHRINK), 'fcntl')
      expect(() => writeInPlace(path, 'new one\n')).toThrow('EPERM')
      expect(readFileSync(path, 'utf8')).toMatch(/^new one\n+$/)
    } finally {
      closeSync(fd)
    }
  })
})

describe('parseResolvConf', () => {
  test('keeps resolvers that a box can reach, and the search list', () => {
    const text =
      '# made by hand\nnameserver 127.0.0.53\nnameserver 192.0.2.2\nnameserver 169.254.169.253\nnameserver 10.0.0.53 \nnameserver fd00::53\nnameserver 999.1.1.1\nnameserver\nsearch a.test b.test\noptions ndots:2\n'
    const settings = parseResolvConf(text, ['192.0.2.2'])
    expect(settings).toEqual({ nameservers: ['10.0.0.53'], otherLines: ['search a.test b.test', 'options ndots:2'] })
    expect(resolvConfText(settings)).toBe('nameserver 10.0.0.53\nsearch a.test b.test\noptions ndots:2\n')
  })
})

test("parseRoutes reads the kernel's table, and nothing else", () => {
  const text =
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n' +
    'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n' +
    'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\nbroken\n'
  expect(parseRoutes(text)).toEqual([
    { interfaceName: 'eth0', destination: 0, mask: 0 },
    { interfaceName: 'docker0', destination: 0xac11_0000, mask: 0xffff_0000 },
  ])
})

const memoryFile = lazyNative<(name: string, flags: number) => number>(null, 'memfd_create', {
  result: 'int',
  args: ['str', 'uint'],
})
const control = lazyNative<(fd: number, command: number, value: number) => number>(null, 'fcntl', {
  result: 'int',
  args: ['int', 'int', 'int'],
})
const MFD_ALLOW_SEALING = 2
const F_ADD_SEALS = 1033
const F_SEAL_SHRINK = 2

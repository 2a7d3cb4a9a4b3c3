import { describe, expect, test } from '@jest/globals'
import { parseBoxHost } from '../../../cli/context/box-host.ts'
import { accountOf } from '../../../cli/files/accounts.ts'
import { formatSshConfig } from '../../../cli/ssh/config.ts'
import { attributesOf, entryOf } from '../../../cli/ssh/sftp-text.ts'
import { splitSshWords } from '../../../cli/ssh/words.ts'

describe('a host name', () => {
  test('is a box, with a project and a context where they are named', () => {
    expect(parseBoxHost('web.boxyard')).toEqual({ box: 'web', project: null, context: null })
    expect(parseBoxHost('Web.Demo.Boxyard.')).toEqual({ box: 'web', project: 'demo', context: null })
    expect(parseBoxHost('web.demo.boxes.example.com.boxyard')).toEqual({
      box: 'web',
      project: 'demo',
      context: 'boxes.example.com',
    })
  })

  test.each([
    '',
    'boxyard',
    '.boxyard',
    'web',
    'web.example',
    'web..boxyard',
    '-a.boxyard',
    'a_b.demo.boxyard',
    'web.demo..boxyard',
  ])('is none of a box: %j', (host) => expect(parseBoxHost(host)).toBeNull())
})

describe('an account', () => {
  const passwd = 'root:x:0:0:root:/root:/bin/ash\nann:x:1000:100:Ann:/home/ann:\n'
  test('is found by name or number, with the shell of a user without one', () => {
    expect(accountOf(passwd, 'root')).toEqual({ uid: 0, gid: 0, home: '/root', shell: '/bin/ash' })
    expect(accountOf(passwd, '1000')).toEqual({ uid: 1000, gid: 100, home: '/home/ann', shell: '/bin/sh' })
    expect(accountOf(passwd, 'ann:users')).toMatchObject({ uid: 1000 })
  })

  test('is guessed where the box does not know it', () => {
    expect(accountOf('', 'root')).toEqual({ uid: 0, gid: 0, home: '/root', shell: '/bin/sh' })
    expect(accountOf('', '7')).toEqual({ uid: 7, gid: 0, home: '/', shell: '/bin/sh' })
  })
})

test('the configuration quotes what names of directories may hold', () => {
  const place = '/home/a b/100%'
  const paths = { knownHosts: `${place}/known`, clientKey: `${place}/key` }
  const text = formatSshConfig(paths, ['/usr/bin/node', `${place}/it's.mjs`], '')
  expect(text).toContain(`  ProxyCommand /usr/bin/node '/home/a b/100%%/it'\\''s.mjs' ssh-proxy -- '%h'\n`)
  expect(text).toContain('  IdentityFile "/home/a b/100%%/key"\n')
  expect(text).toMatch(/^ {2}StrictHostKeyChecking yes$/m)
  expect(text).toMatch(/^ {2}ForwardAgent no$/m)
  // IdentityAgent would replace the agent that `-A` forwards. The client does not offer the agent's keys to the box.
  expect(text).not.toContain('IdentityAgent')
  expect(text).toMatch(/^ {2}IdentitiesOnly yes$/m)
})

test('the configuration has an option only where this version of OpenSSH knows it', () => {
  const paths = { knownHosts: '/known', clientKey: '/key' }
  const textFor = (version: string): string => formatSshConfig(paths, ['boxyard'], version)
  for (const version of ['', 'OpenSSH_9.2p1 Debian-2+deb12u6, OpenSSL 3.0.19', 'OpenSSH_10.0p2', 'Sun_SSH_1.1'])
    expect([version, textFor(version)]).toEqual([version, expect.not.stringContaining('WarnWeakCrypto')])
  for (const version of ['OpenSSH_10.1p1 Debian', 'OpenSSH_for_Windows_10.2p1', 'OpenSSH_11.0p1'])
    expect([version, textFor(version)]).toEqual([version, expect.stringContaining('WarnWeakCrypto no')])
})

describe('words behind the host of ssh', () => {
  test.each([
    [[], [], []],
    [['make', '-C', '/srv'], [], ['make', '-C', '/srv']],
    [['-N', '-L', '1:a:2'], ['-N', '-L', '1:a:2'], []],
    [
      ['-tt', '-p22', 'ls', '-l'],
      ['-tt', '-p22'],
      ['ls', '-l'],
    ],
    [['-vL', '1:a:2', 'ls'], ['-vL', '1:a:2'], ['ls']],
    [['-Lv', 'ls'], ['-Lv'], ['ls']],
    [['-t', '--', '-x', 'y'], ['-t'], ['-x', 'y']],
    [['-', 'x'], [], ['-', 'x']],
    [['-o'], ['-o'], []],
  ])('%j are options and a command', (words, options, command) => {
    expect(splitSshWords(words)).toEqual({ options, command })
  })
})

describe('a file', () => {
  const file = {
    path: 'run',
    path_base64: null,
    type: 'file',
    size_bytes: 7,
    mode: '4751',
    uid: 1000,
    gid: 100,
    modified_at: '2026-11-05T10:11:12.900Z',
    target: null,
    etag: '',
  } as const

  test('has its type in the bits of its mode, and whole seconds', () => {
    const mtime = Date.UTC(2026, 10, 5, 10, 11, 12) / 1000
    expect(attributesOf(file)).toEqual({ mode: 0o104751, size: 7, uid: 1000, gid: 100, atime: mtime, mtime })
  })

  test('has a line as ls has it', () => {
    expect(entryOf(file).longname).toBe('-rwsr-x--x    1 1000     100             7 Nov  5  2026 run')
    const listed = entryOf({ ...file, type: 'directory', mode: '1776' }).longname
    expect(listed.slice(0, 10)).toBe('drwxrwxrwT')
  })
})

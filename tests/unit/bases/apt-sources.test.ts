import { describe, expect, test } from '@jest/globals'
import {
  findSuite,
  formatSource,
  parseListFile,
  parseSourcesFile,
  stripCredentials,
} from '../../../agent/drivers/bases/apt-sources.ts'

const DEB822 = `# the archive
Types: deb deb-src
URIs: http://archive.test/debian
# a comment within
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /keys/archive.gpg

Types: deb
URIs: http://off.test/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: https://archive.test/security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS/xcRfwEQWzr
 -----END PGP PUBLIC KEY BLOCK-----
`

describe('sources in the deb822 style', () => {
  test('enabled binary archives are read, with folded fields and comments', () => {
    expect(parseSourcesFile(DEB822)).toEqual([
      {
        uri: 'http://archive.test/debian',
        suites: ['bookworm', 'bookworm-updates'],
        components: ['main', 'contrib'],
        signedBy: '/keys/archive.gpg',
      },
      { uri: 'https://archive.test/security', suites: ['bookworm-security'], components: ['main'], signedBy: null },
    ])
  })

  test('an empty file has none', () => {
    expect(parseSourcesFile('\n\n# nothing\n')).toEqual([])
  })
})

describe('sources in the one-line style', () => {
  test('binary archives are read, with their options, and the rest is left out', () => {
    const text = `
      # deb http://commented.test/debian bookworm main
      deb-src http://source.test/debian bookworm main
      deb cdrom:[Debian 12]/ bookworm main
      deb [arch=amd64 signed-by=/keys/a.gpg] http://archive.test/debian bookworm main contrib # why
      deb http://plain.test/debian bookworm main`
    expect(parseListFile(text).slice(-2)).toEqual([
      {
        uri: 'http://archive.test/debian',
        suites: ['bookworm'],
        components: ['main', 'contrib'],
        signedBy: '/keys/a.gpg',
      },
      { uri: 'http://plain.test/debian', suites: ['bookworm'], components: ['main'], signedBy: null },
    ])
  })
})

describe('choice and output', () => {
  test('the first fetchable archive with the suite is chosen', () => {
    const sources = parseListFile('deb cdrom:/x bookworm main\ndeb http://archive.test/debian bookworm main')
    expect(findSuite(sources, 'bookworm')?.uri).toBe('http://archive.test/debian')
    expect(findSuite(sources, 'sid')).toBeNull()
  })

  test('a source is written for another suite with its keys', () => {
    const source = { uri: 'http://archive.test/debian', suites: ['bookworm'], components: ['main'], signedBy: '/k.gpg' }
    expect(formatSource(source, 'trixie')).toBe('deb [signed-by=/k.gpg] http://archive.test/debian trixie main')
    expect(formatSource({ ...source, signedBy: null }, 'trixie')).toBe('deb http://archive.test/debian trixie main')
  })

  test('names and passwords are removed from an address', () => {
    expect(stripCredentials('https://user:pass@archive.test/debian')).toBe('https://archive.test/debian')
    expect(stripCredentials('http://archive.test/a@b')).toBe('http://archive.test/a@b')
  })
})

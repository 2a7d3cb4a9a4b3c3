import { execFile, execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ensureClientKey, readSshKeys, restoreKnownHosts, sshPathsOf } from '../../../cli/ssh/keys.ts'
import { faultOf, formatSshKey, makeSshKey, parsePrivateKey, publicKeyText } from '../../../cli/ssh/private-keys.ts'

const URL = 'http://127.0.0.1:1'
let home = ''
const told: string[] = []
const tell = (message: string): void => void told.push(message)
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'boxyard-keys-'))
  told.length = 0
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** Returns a key whose public half begins with a zero byte, as one key in 256 does. */
function keyWithZero(): { secret: Buffer; open: Buffer } {
  for (;;) {
    const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    const open = Buffer.from(x, 'base64url')
    if (open[0] === 0) return { secret: Buffer.from(d, 'base64url'), open }
  }
}

/** Formats a key as ssh2 does, without the leading zero bytes of the public half. */
function malformedKey(): string {
  const { secret, open } = keyWithZero()
  return formatSshKey(secret, open.subarray(1), 'boxyard client')
}

const paths = (): ReturnType<typeof sshPathsOf> => sshPathsOf({ HOME: home, XDG_CONFIG_HOME: home })

test('a key whose public half begins with a zero is read by this program and by OpenSSH', () => {
  const { secret, open } = keyWithZero()
  const key = formatSshKey(secret, open, 'with a zero')
  const parsed = parsePrivateKey(key)
  expect(parsed.verify('text', parsed.sign('text'))).toBe(true)
  const path = join(home, 'key')
  writeFileSync(path, key, { mode: 0o600 })
  const text = execFileSync('ssh-keygen', ['-y', '-P', '', '-f', path], { encoding: 'utf8' })
  expect(text.trim()).toBe(`${publicKeyText(key)} with a zero`)
})

test('every key that is made can be read', () => {
  for (let made = 0; made < 3_000; made++) expect(faultOf(makeSshKey('x'.repeat(made % 9)))).toBeNull()
})

describe.each([
  ['that ssh2 made without its zeros', malformedKey],
  ['of no bytes, as after a power cut', () => ''],
  ['that is cut off', () => makeSshKey('cut').slice(0, 200)],
  ['of public bytes', () => `${publicKeyText(makeSshKey('public'))}\n`],
])('a stored key %s', (_name, brokenKey) => {
  test('is made again for the client, which is reported once', () => {
    mkdirSync(join(paths().clientKey, '..'), { recursive: true })
    writeFileSync(paths().clientKey, brokenKey())
    const key = ensureClientKey(paths(), tell)
    expect(faultOf(key)).toBeNull()
    expect(told).toEqual([expect.stringContaining(`Created a new key, because ${paths().clientKey} is not readable: `)])
    expect(statSync(paths().clientKey).mode & 0o777).toBe(0o600)
    expect(ensureClientKey(paths(), tell)).toBe(key)
    expect(told).toHaveLength(1)
    expect(readdirSync(join(paths().clientKey, '..'))).toEqual(['client_ed25519'])
  })

  test('is made again for a deployment, and known to OpenSSH', () => {
    ensureClientKey(paths(), tell)
    readSshKeys(paths(), URL, tell)
    const path = join(paths().hostKeys, readdirSync(paths().hostKeys)[0] ?? '')
    writeFileSync(path, brokenKey())
    restoreKnownHosts(paths())
    expect(told).toEqual([])
    const { hostKey } = readSshKeys(paths(), URL, tell)
    expect(told).toEqual([expect.stringContaining(path)])
    expect(readFileSync(path, 'utf8')).toBe(hostKey)
    expect(readFileSync(paths().knownHosts, 'utf8')).toContain(publicKeyText(hostKey))
  })
})

test('a key that waits under another name from a program that ended is used, unless it cannot be read', () => {
  const { clientKey } = paths()
  mkdirSync(join(clientKey, '..'), { recursive: true })
  const left = makeSshKey('left')
  writeFileSync(clientKey, '')
  writeFileSync(`${clientKey}.next`, left)
  expect(ensureClientKey(paths(), tell)).toBe(left)
  writeFileSync(clientKey, '')
  writeFileSync(`${clientKey}.next`, 'cut off')
  expect(faultOf(ensureClientKey(paths(), tell))).toBeNull()
  expect(existsSync(`${clientKey}.next`)).toBe(false)
})

test('programs that begin at the same time get one key', async () => {
  ensureClientKey(paths(), tell)
  writeFileSync(paths().clientKey, malformedKey())
  const module = join(import.meta.dirname, '../../../cli/ssh/keys.ts')
  const program = `const { readSshKeys, sshPathsOf } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(readSshKeys(sshPathsOf(process.env), '${URL}', () => undefined)))`
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home }
  const run = promisify(execFile)
  const ran = await Promise.all(
    Array.from({ length: 6 }, () => run(process.execPath, ['--input-type=module', '-e', program], { env })),
  )
  const kept = readSshKeys(paths(), URL, tell)
  expect(new Set(ran.map(({ stdout }) => stdout.trim()))).toEqual(new Set([JSON.stringify(kept)]))
  expect(readFileSync(paths().knownHosts, 'utf8')).toContain(publicKeyText(kept.hostKey))
})

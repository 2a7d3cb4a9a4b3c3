import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  changedKeys,
  changeKeys,
  openKeyFiles,
  readKeys,
  replaceKeys,
  trustBackupKeys,
} from '../../../agent/lib/disk/key-files.ts'
import { runOk } from '../../../agent/lib/run.ts'
import {
  createBackupKeys,
  parseTokenKeys,
  publicTokenKeys,
  rotateTokenKeys,
  type TokenKeySet,
} from '../../../shared/auth/keys.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'boxyard-keys-'))
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const pathOf = (half: 'private' | 'public') => join(dataDir, 'keys', `token-${half}.json`)
const keysOf = (half: 'private' | 'public'): TokenKeySet => parseTokenKeys(readFileSync(pathOf(half), 'utf8'))
const open = (isExclusive: boolean) => openKeyFiles(dataDir, { now: () => 0, isExclusive })

describe('key files', () => {
  test('are made private, beside the public half of the token keys', () => {
    const keys = open(false)
    expect(keysOf('public')).toEqual(publicTokenKeys(keys.tokens()))
    expect(readdirSync(join(dataDir, 'keys')).sort()).toEqual([
      'backup.json',
      'channel.json',
      'lock',
      'token-private.json',
      'token-public.json',
    ])
    for (const name of readdirSync(join(dataDir, 'keys'))) {
      expect(statSync(join(dataDir, 'keys', name)).mode & 0o777).toBe(0o600)
    }
  })

  test('a reader beside the agent leaves the public half alone', () => {
    open(true)
    const newer = JSON.stringify(publicTokenKeys(rotateTokenKeys(keysOf('private'))))
    writeFileSync(pathOf('public'), newer)
    open(false)
    expect(readFileSync(pathOf('public'), 'utf8')).toBe(newer)
  })

  test('an interrupted change leaves no signing key unknown, and the agent completes it', async () => {
    open(true)
    // A mount point cannot be replaced.
    await runOk('mount', ['--bind', pathOf('private'), pathOf('private')])
    try {
      expect(() => changeKeys(dataDir, 'token', 'rotate')).toThrow(/EBUSY/)
    } finally {
      await runOk('umount', [pathOf('private')])
    }
    expect(keysOf('private').keys).toHaveLength(1)
    expect(keysOf('public').keys.slice(1)).toEqual(publicTokenKeys(keysOf('private')).keys)
    open(true)
    expect(keysOf('public')).toEqual(publicTokenKeys(keysOf('private')))
  })

  test('trust the backup keys of another deployment, and go on signing with their own', () => {
    const keys = open(true)
    const [own] = keys.backups().keys
    const theirs = createBackupKeys()
    const path = join(dataDir, 'theirs.json')
    writeFileSync(path, JSON.stringify(theirs))
    expect([trustBackupKeys(dataDir, path), trustBackupKeys(dataDir, path)]).toEqual([1, 0])
    keys.reload()
    expect(keys.backups().keys).toEqual([own, ...theirs.keys])
    writeFileSync(path, JSON.stringify({ keys: [{ id: 'k-1', secret: 'short' }] }))
    expect(() => trustBackupKeys(dataDir, path)).toThrow('has a key that is not well-formed, at index 0')
    // The keys of a fleet come first. The keys with which this host verifies stay.
    const fleet = { ...readKeys(dataDir), backups: createBackupKeys(), generation: 3 }
    expect(replaceKeys(dataDir, fleet)).toBe(false)
    expect(readKeys(dataDir).backups.keys).toEqual([...fleet.backups.keys, own, ...theirs.keys])
  })

  test('take over the keys of a fleet at once, and never older ones', () => {
    const keys = open(true)
    const own = readKeys(dataDir)
    expect(own).toEqual({ channel: keys.channel(), tokens: keys.tokens(), backups: keys.backups(), generation: 0 })
    const newer = { ...changedKeys(changedKeys(own, 'token', 'rotate'), 'channel', 'rotate'), generation: 7 }
    expect(replaceKeys(dataDir, newer)).toBe(true)
    keys.reload()
    expect(keys.channel()).toEqual(newer.channel)
    expect(keysOf('public')).toEqual(publicTokenKeys(newer.tokens))
    expect(replaceKeys(dataDir, newer)).toBe(false)
    expect(replaceKeys(dataDir, { ...own, generation: 6 })).toBe(false)
    expect(readKeys(dataDir)).toEqual(newer)
    const channelAt = statSync(join(dataDir, 'keys/channel.json')).mtimeMs
    expect(replaceKeys(dataDir, { ...changedKeys(newer, 'token', 'drop-old'), generation: 8 })).toBe(true)
    // The doctor reads from the file's time when the channel key was rotated.
    expect(statSync(join(dataDir, 'keys/channel.json')).mtimeMs).toBe(channelAt)
  })

  test('a change adds a key that signs, and the public half has it', () => {
    open(true)
    changeKeys(dataDir, 'token', 'rotate')
    expect(keysOf('private').keys).toHaveLength(2)
    expect(keysOf('public')).toEqual(publicTokenKeys(keysOf('private')))
  })

  test('a key that was made a moment ago signs at once, and is known from then on', () => {
    const keys = open(true)
    const [old] = keys.tokens().keys
    changeKeys(dataDir, 'token', 'rotate')
    expect(keys.tokens().keys[0]).toEqual(old)
    expect(keys.signing().keys[0]).toEqual(keysOf('private').keys[0])
    expect(keys.tokens()).toBe(keys.signing())
  })

  test('the agent removes what a killed change left', () => {
    open(true)
    const draft = `${pathOf('private')}.0123456789abcdef.new`
    writeFileSync(draft, '{')
    open(true)
    expect(existsSync(draft)).toBe(false)
  })

  test('concurrent changes by several processes all hold', async () => {
    open(true)
    const module = new URL('../../../agent/lib/disk/key-files.ts', import.meta.url).href
    const change = `import { changeKeys } from ${JSON.stringify(module)}
      for (let i = 0; i < 5; i++) changeKeys(${JSON.stringify(dataDir)}, 'token', 'rotate')`
    const rotate = () => runOk(process.execPath, ['--input-type=module', '-e', change], { timeoutMs: 100_000 })
    await Promise.all([rotate(), rotate(), rotate()])
    expect(keysOf('private').keys).toHaveLength(16)
    expect(keysOf('public')).toEqual(publicTokenKeys(keysOf('private')))
  })
})

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type BackupKeySet,
  type ChannelKeySet,
  createBackupKeys,
  createChannelKeys,
  createTokenKeys,
  dropOldKeys,
  joinBackupKeys,
  type KeySets,
  parseBackupKeys,
  parseChannelKeys,
  parseTokenKeys,
  prepareChannelKeys,
  prepareTokenKeys,
  publicTokenKeys,
  rotateChannelKeys,
  rotateTokenKeys,
  type TokenKeySet,
} from '../../../shared/auth/keys.ts'
import { lockFile } from '../syscalls/descriptors.ts'
import { removeDrafts, writeDurably } from './durable-file.ts'

/** Current keys of a deployment. Reloads a changed file within a second. */
export interface KeyFiles {
  channel(): ChannelKeySet
  /** Private token keys. */
  tokens(): TokenKeySet
  /** The same for signing. Reloads a changed file at once, so that a token created after a rotation has the new key. */
  signing(): TokenKeySet
  /** Keys that sign and verify the manifests of backups. */
  backups(): BackupKeySet
  /** Reads changed files at once. */
  reload(): void
  /** Notes that a request came with a channel key, so that `oldChannelKeyUse` reports one that is still in use. */
  noteChannelKey(id: string): void
}

export type KeyKind = 'channel' | 'token'
export type KeyChange = 'rotate' | 'drop-old' | 'prepare'

/** The keys in a data directory. */
export interface StoredKeys extends KeySets {
  /** How recent they are among the key sets of a fleet, or 0 before they join one. */
  generation: number
}

export interface KeyFilesOptions {
  /** Milliseconds since the epoch. */
  now(): number
  /** True if this process is the only agent of the directory. It then repairs an interrupted change of keys. */
  isExclusive: boolean
}

/**
 * Opens the keys below a data directory, creating missing ones (0600, in a 0700 directory).
 * @throws Error if another process changes them for more than 10 s
 */
export function openKeyFiles(dataDir: string, { now, isExclusive }: KeyFilesOptions): KeyFiles {
  const paths = pathsOf(dataDir)
  mkdirSync(paths.directory, { recursive: true, mode: 0o700 })
  withLock(paths.lock, () => {
    if (!existsSync(paths.channel)) writeDurably(paths.channel, textOf(createChannelKeys()))
    if (!existsSync(paths.tokens)) writeTokenKeys(paths, createTokenKeys())
    if (!existsSync(paths.backups)) writeDurably(paths.backups, textOf(createBackupKeys()))
    if (isExclusive) mend(paths)
  })
  const channel = watched(paths.channel, parseChannelKeys, now)
  const tokens = watched(paths.tokens, parseTokenKeys, now)
  const backups = watched(paths.backups, parseBackupKeys, now)
  return {
    channel: () => channel(false),
    tokens: () => tokens(false),
    signing: () => tokens(true),
    backups: () => backups(false),
    reload: () => {
      channel(true)
      tokens(true)
      backups(true)
    },
    noteChannelKey: createUseNote(paths.oldChannelUse, () => channel(false), now),
  }
}

/** Returns when a request last came with a channel key that no longer signs, within the last hour. Null if none did. */
export function oldChannelKeyUse(dataDir: string, now: number): number | null {
  const paths = pathsOf(dataDir)
  const usedAt = existsSync(paths.oldChannelUse) ? statSync(paths.oldChannelUse).mtimeMs : 0
  // A front reads a new key within 3 s.
  const rotatedAt = statSync(paths.channel).mtimeMs
  return usedAt > Math.max(now - OLD_USE_MS, rotatedAt + ROTATION_MS) ? usedAt : null
}

// Writes at most once a second. A failure only loses the note.
function createUseNote(path: string, channel: () => ChannelKeySet, now: () => number): (id: string) => void {
  let notedAt = 0
  return (id) => {
    if (id === channel().keys[0]?.id || now() - notedAt < NOTE_MS) return
    notedAt = now()
    try {
      writeFileSync(path, `${id}\n`, { mode: 0o600 })
    } catch {
      // The disk is full, or of another owner.
    }
  }
}

/**
 * Makes a new key of the kind sign (`rotate`), drops all keys but the signing one (`drop-old`), or makes the key of the next rotation
 * (`prepare`).
 * @throws Error if another process changes keys for more than 10 s
 */
export function changeKeys(dataDir: string, kind: KeyKind, change: KeyChange): void {
  const paths = pathsOf(dataDir)
  withLock(paths.lock, () => {
    const { channel, tokens } = changedKeys(readFrom(paths), kind, change)
    if (kind === 'channel') writeDurably(paths.channel, textOf(channel))
    else writeTokenKeys(paths, tokens)
  })
}

/** Returns sets of keys with a change as `changeKeys` makes it. */
export function changedKeys(sets: KeySets, kind: KeyKind, change: KeyChange): KeySets {
  if (kind === 'channel') return { ...sets, channel: CHANNEL_CHANGES[change](sets.channel) }
  return { ...sets, tokens: TOKEN_CHANGES[change](sets.tokens) }
}

/**
 * Adds the keys in a file to the keys that verify backups, such as `keys/backup.json` of another deployment. Returns how many are new.
 * @throws Error for a file that cannot be read or is not well-formed, or if another process changes keys for more than 10 s
 */
export function trustBackupKeys(dataDir: string, path: string): number {
  const added = parseBackupKeys(readFileSync(path, 'utf8'))
  const paths = pathsOf(dataDir)
  let count = 0
  withLock(paths.lock, () => {
    const own = parseBackupKeys(readFileSync(paths.backups, 'utf8'))
    const all = joinBackupKeys(own, added)
    count = all.keys.length - own.keys.length
    if (count > 0) writeDurably(paths.backups, textOf(all))
  })
  return count
}

const CHANNEL_CHANGES: Record<KeyChange, (keys: ChannelKeySet) => ChannelKeySet> = {
  rotate: rotateChannelKeys,
  'drop-old': dropOldKeys,
  prepare: prepareChannelKeys,
}
const TOKEN_CHANGES: Record<KeyChange, (keys: TokenKeySet) => TokenKeySet> = {
  rotate: rotateTokenKeys,
  'drop-old': dropOldKeys,
  prepare: prepareTokenKeys,
}

/** Reads the keys below a data directory, and how recent they are. */
export function readKeys(dataDir: string): StoredKeys {
  return readFrom(pathsOf(dataDir))
}

/**
 * Replaces the keys below a data directory with a fleet's keys, unless they are more recent. Returns whether any changed.
 * @throws Error if another process changes keys for more than 10 s
 */
export function replaceKeys(dataDir: string, { channel, tokens, backups, generation }: StoredKeys): boolean {
  const paths = pathsOf(dataDir)
  let isChanged = false
  withLock(paths.lock, () => {
    const old = readFrom(paths)
    if (old.generation > generation) return
    const isOther = (one: object, other: object): boolean => textOf(one) !== textOf(other)
    isChanged = isOther(old.channel, channel) || isOther(old.tokens, tokens)
    if (isOther(old.channel, channel)) writeDurably(paths.channel, textOf(channel))
    if (isOther(old.tokens, tokens)) writeTokenKeys(paths, tokens)
    // Keeps every key that one of the sets verifies with.
    const all = joinBackupKeys(backups, old.backups)
    if (isOther(old.backups, all)) writeDurably(paths.backups, textOf(all))
    // Writes this last, so that an interrupted change is taken over again.
    if (old.generation !== generation) writeDurably(paths.generation, `${generation}\n`)
  })
  return isChanged
}

function readFrom(paths: KeyPaths): StoredKeys {
  const text = existsSync(paths.generation) ? readFileSync(paths.generation, 'utf8') : '0'
  return {
    channel: parseChannelKeys(readFileSync(paths.channel, 'utf8')),
    tokens: parseTokenKeys(readFileSync(paths.tokens, 'utf8')),
    backups: parseBackupKeys(readFileSync(paths.backups, 'utf8')),
    generation: Number(text),
  }
}

// Writes the public half first. A crash in between then never leaves a signing key that verifiers do not know.
function writeTokenKeys(paths: KeyPaths, keys: TokenKeySet): void {
  writeDurably(paths.publicTokens, textOf(publicTokenKeys(keys)))
  writeDurably(paths.tokens, textOf(keys))
}

function mend(paths: KeyPaths): void {
  removeDrafts(paths.directory)
  const wanted = textOf(publicTokenKeys(parseTokenKeys(readFileSync(paths.tokens, 'utf8'))))
  const isWhole = existsSync(paths.publicTokens) && readFileSync(paths.publicTokens, 'utf8') === wanted
  if (!isWhole) writeDurably(paths.publicTokens, wanted)
}

/** Runs `change` under the exclusive lock of the keys, which the kernel drops with its process. */
function withLock(path: string, change: () => void): void {
  const fd = openSync(path, 'a', 0o600)
  try {
    for (let tries = 0; !lockFile(fd, 'exclusive'); tries++) {
      if (tries * LOCK_POLL_MS > LOCK_WAIT_MS)
        throw new Error(`${path}: another process is changing the keys. Try again.`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS)
    }
    change()
  } finally {
    closeSync(fd)
  }
}

// Returns the same object as long as the file is unchanged, since caches are keyed by it.
function watched<T>(path: string, parse: (text: string) => T, now: () => number): (isUrgent: boolean) => T {
  let checkedAt = now()
  let stamp = stampOf(path)
  let value = parse(readFileSync(path, 'utf8'))
  return (isUrgent) => {
    if (!isUrgent && now() - checkedAt < CHECK_MS) return value
    checkedAt = now()
    const current = stampOf(path)
    if (current === stamp) return value
    stamp = current
    value = parse(readFileSync(path, 'utf8'))
    return value
  }
}

function stampOf(path: string): string {
  const { mtimeMs, ino, size } = statSync(path)
  return `${mtimeMs}:${ino}:${size}`
}

type KeyPaths = ReturnType<typeof pathsOf>

function pathsOf(dataDir: string) {
  const directory = join(dataDir, 'keys')
  return {
    directory,
    lock: join(directory, 'lock'),
    channel: join(directory, 'channel.json'),
    oldChannelUse: join(directory, 'old-channel-key-used'),
    tokens: join(directory, 'token-private.json'),
    backups: join(directory, 'backup.json'),
    publicTokens: join(directory, 'token-public.json'),
    generation: join(directory, 'generation'),
  }
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const CHECK_MS = 1000
const LOCK_POLL_MS = 20
const LOCK_WAIT_MS = 10_000
const OLD_USE_MS = 3_600_000
const ROTATION_MS = 6_000
const NOTE_MS = 1_000

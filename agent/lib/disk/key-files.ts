import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ChannelKeySet,
  createChannelKeys,
  createTokenKeys,
  dropOldKeys,
  parseChannelKeys,
  parseTokenKeys,
  publicTokenKeys,
  rotateChannelKeys,
  rotateTokenKeys,
  type TokenKeySet,
} from '../../../shared/auth/keys.ts'
import { lockFile } from '../syscalls/descriptors.ts'
import { removeDrafts, writeDurably } from './durable-file.ts'

/** The keys of a deployment as they stand in its files now: a change of a file is seen within a second. */
export interface KeyFiles {
  channel(): ChannelKeySet
  /** Private. */
  tokens(): TokenKeySet
}

export interface KeyFilesOptions {
  /** Milliseconds since the epoch. */
  now(): number
  /** Whether this process is the only agent of the directory: it mends what a killed change of keys left. */
  isExclusive: boolean
}

/**
 * Reads the keys below a data directory, making them (0600, in a 0700 directory) where there are none.
 * @throws Error if another process changes them for more than 10 s
 */
export function openKeyFiles(dataDir: string, { now, isExclusive }: KeyFilesOptions): KeyFiles {
  const paths = pathsOf(dataDir)
  mkdirSync(paths.directory, { recursive: true, mode: 0o700 })
  withLock(paths.lock, () => {
    if (!existsSync(paths.channel)) writeDurably(paths.channel, textOf(createChannelKeys()))
    if (!existsSync(paths.tokens)) writeTokenKeys(paths, createTokenKeys())
    if (isExclusive) mend(paths)
  })
  return {
    channel: watched(paths.channel, parseChannelKeys, now),
    tokens: watched(paths.tokens, parseTokenKeys, now),
  }
}

/**
 * Makes a new key of its kind the one that signs (`rotate`), or forgets all others (`drop-old`).
 * @throws Error if another process changes keys for more than 10 s
 */
export function changeKeys(dataDir: string, kind: 'channel' | 'token', change: 'rotate' | 'drop-old'): void {
  const paths = pathsOf(dataDir)
  withLock(paths.lock, () => {
    if (kind === 'channel') {
      const keys = parseChannelKeys(readFileSync(paths.channel, 'utf8'))
      writeDurably(paths.channel, textOf(change === 'rotate' ? rotateChannelKeys(keys) : dropOldKeys(keys)))
      return
    }
    const keys = parseTokenKeys(readFileSync(paths.tokens, 'utf8'))
    writeTokenKeys(paths, change === 'rotate' ? rotateTokenKeys(keys) : dropOldKeys(keys))
  })
}

// The public half first: a key that signs is known to those who verify, wherever a kill falls.
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

/** Runs `change` as the only process that changes the keys; a lock ends with its process. */
function withLock(path: string, change: () => void): void {
  const fd = openSync(path, 'a', 0o600)
  try {
    for (let tries = 0; !lockFile(fd, 'exclusive'); tries++) {
      if (tries * LOCK_POLL_MS > LOCK_WAIT_MS) throw new Error(`${path}: another process changes the keys; try again.`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS)
    }
    change()
  } finally {
    closeSync(fd)
  }
}

// An object stays the same as long as its file does: caches hang on it.
function watched<T>(path: string, parse: (text: string) => T, now: () => number): () => T {
  let checkedAt = now()
  let stamp = stampOf(path)
  let value = parse(readFileSync(path, 'utf8'))
  return () => {
    if (now() - checkedAt < CHECK_MS) return value
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
    tokens: join(directory, 'token-private.json'),
    publicTokens: join(directory, 'token-public.json'),
  }
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const CHECK_MS = 1000
const LOCK_POLL_MS = 20
const LOCK_WAIT_MS = 10_000

import { readFileSync, statSync } from 'node:fs'
import { type ChannelKeySet, parseChannelKeys, parseTokenKeys, type TokenKeySet } from '../shared/auth/keys.ts'
import type { Logger } from '../shared/log.ts'
import type { SecretSource } from './config.ts'

/** The keys of the front, reloaded from their files. A changed set is another object. */
export interface Keyring {
  /** Follows a change of its file within 3 s, after the agent also knows it. */
  channel(): ChannelKeySet
  tokens(): TokenKeySet
  /** Reads one set's file again, at most once a second. Keeps the keys if the file is bad. */
  refresh(which: 'channel' | 'tokens'): void
}

export interface KeyringOptions {
  channelKeys: SecretSource
  tokenKeys: SecretSource
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

/** Reads the keys of the channel and of the tokens. @throws Error naming the file that is missing or malformed */
export function createKeyring(options: KeyringOptions): Keyring {
  const channel = createSecret(options.channelKeys, parseChannelKeys, options)
  const tokens = createSecret(options.tokenKeys, parseTokenKeys, options)
  return {
    channel: () => {
      channel.follow()
      return channel.value()
    },
    tokens: tokens.value,
    refresh: (which) => (which === 'channel' ? channel : tokens).refresh(),
  }
}

interface Secret<T> {
  value(): T
  refresh(): void
  /** Reads a file again that changed two seconds ago or earlier. */
  follow(): void
}

function createSecret<T>(source: SecretSource, parse: (text: string) => T, options: KeyringOptions): Secret<T> {
  let text = read(source)
  let value = parseNamed(source, { text, parse })
  let refreshedAt = Number.NEGATIVE_INFINITY
  let checkedAt = Number.NEGATIVE_INFINITY
  let followed = changedAt(source)
  const readAgain = (): void => {
    try {
      const next = read(source)
      if (next === text) return
      value = parseNamed(source, { text: next, parse })
      text = next
    } catch (error) {
      options.logger.error('Failed to reload the keys', { error })
    }
  }
  return {
    value: () => value,
    refresh: () => {
      const now = options.now()
      if (Math.abs(now - refreshedAt) < REFRESH_MS) return
      refreshedAt = now
      readAgain()
    },
    follow: () => {
      const now = options.now()
      if (Math.abs(now - checkedAt) < REFRESH_MS) return
      checkedAt = now
      const changed = changedAt(source)
      if (changed === followed || changed > now - SETTLED_MS) return
      followed = changed
      readAgain()
    },
  }
}

function read(source: SecretSource): string {
  if ('text' in source) return source.text
  try {
    return readFileSync(source.file, 'utf8')
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : 'unknown'
    const remedy = code === 'ENOENT' ? ' The agent creates it at its first start. Start the agent, then the front.' : ''
    throw new Error(`The key file ${source.file} is not readable (${code}).${remedy}`, { cause })
  }
}

/** Returns milliseconds since the epoch, or 0 for a source that never changes or is unreadable. */
function changedAt(source: SecretSource): number {
  return 'file' in source ? (statSync(source.file, { throwIfNoEntry: false })?.mtimeMs ?? 0) : 0
}

function parseNamed<T>(source: SecretSource, { text, parse }: { text: string; parse: (text: string) => T }): T {
  try {
    return parse(text)
  } catch (cause) {
    const name = 'file' in source ? source.file : 'A key set given in the environment'
    throw new Error(`${name} ${cause instanceof Error ? cause.message : 'is not well-formed'}.`, { cause })
  }
}

const REFRESH_MS = 1_000
// The agent checks its key files each second.
const SETTLED_MS = 2_000

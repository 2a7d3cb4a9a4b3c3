import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { BackupKey } from '../backup-manifest.ts'
import type { ChannelKey } from './channel.ts'

/** The contents of `keys/channel.json`: the first key signs, all verify. */
export interface ChannelKeySet {
  agent_id: string
  /** `next` is true for a key that verifies, and will sign after the next rotation. */
  keys: readonly (ChannelKey & { next?: boolean })[]
}

/** The contents of `keys/backup.json`: the first key signs the manifests of backups, all verify. */
export interface BackupKeySet {
  keys: readonly BackupKey[]
}

/** An Ed25519 JWK (RFC 8037). With `d` it is private. */
export interface TokenKey {
  kty: 'OKP'
  crv: 'Ed25519'
  alg: 'EdDSA'
  use: 'sig'
  kid: string
  x: string
  d?: string
  /** True for a key that verifies, and will sign after the next rotation. */
  next?: boolean
}

/** A JWKS: `keys/token-private.json` with private keys, `keys/token-public.json` without. The first signs. */
export interface TokenKeySet {
  keys: readonly TokenKey[]
}

/** All keys of a deployment, or of a fleet. */
export interface KeySets {
  channel: ChannelKeySet
  /** Private. */
  tokens: TokenKeySet
  backups: BackupKeySet
}

/** Creates the channel's first key set, for a new agent. */
export function createChannelKeys(): ChannelKeySet {
  return { agent_id: randomName(12), keys: [newChannelKey()] }
}

/** Creates the first key that signs backups. */
export function createBackupKeys(): BackupKeySet {
  const { id, secret } = newChannelKey()
  return { keys: [{ id, secret }] }
}

/** Returns all keys of two sets. The key of the first set signs. */
export function joinBackupKeys(one: BackupKeySet, other: BackupKeySet): BackupKeySet {
  const added = other.keys.filter(({ id }) => one.keys.every((key) => key.id !== id))
  return added.length === 0 ? one : { keys: [...one.keys, ...added] }
}

/** Adds the key of the next rotation, unless there is one, so that verifiers can learn it before it signs. */
export function prepareChannelKeys(set: ChannelKeySet): ChannelKeySet {
  if (set.keys.some(({ next }) => next)) return set
  return { ...set, keys: [...set.keys, { ...newChannelKey(), next: true }] }
}

/** Makes the prepared key, or a new one, sign. Keeps the last one for verification, and drops older ones. */
export function rotateChannelKeys(set: ChannelKeySet): ChannelKeySet {
  const { next: _next, ...signing } = set.keys.find(({ next }) => next) ?? newChannelKey()
  return { ...set, keys: [signing, ...set.keys.filter(({ next }) => !next).slice(0, 1)] }
}

/** Creates a private set for signing tokens. */
export function createTokenKeys(): TokenKeySet {
  return { keys: [newTokenKey()] }
}

/** Adds the key of the next rotation, unless there is one, so that verifiers can learn it before it signs. */
export function prepareTokenKeys(set: TokenKeySet): TokenKeySet {
  return set.keys.some(({ next }) => next) ? set : { keys: [...set.keys, { ...newTokenKey(), next: true }] }
}

/** Makes the prepared key of a private set, or a new one, sign. The old ones verify until they are dropped. */
export function rotateTokenKeys(set: TokenKeySet): TokenKeySet {
  const { next: _next, ...signing } = set.keys.find(({ next }) => next) ?? newTokenKey()
  return { keys: [signing, ...set.keys.filter(({ next }) => !next)] }
}

/** Keeps the signing key and a prepared one. Signatures of all other keys become invalid. */
export function dropOldKeys<T extends { readonly keys: readonly object[] }>(set: T): T {
  return { ...set, keys: set.keys.filter((key, index) => index === 0 || 'next' in key) }
}

/** Returns the public half of a set, for the functions. */
export function publicTokenKeys(set: TokenKeySet): TokenKeySet {
  return { keys: set.keys.map(({ d: _private, next: _next, ...key }) => key) }
}

/**
 * Parses the text of a channel key file.
 * @throws Error that names the fault and never shows the text
 */
export function parseChannelKeys(text: string): ChannelKeySet {
  const value = parseObject(text)
  if (typeof value.agent_id !== 'string' || value.agent_id === '') throw new Error('has no "agent_id"')
  return { agent_id: value.agent_id, keys: parseKeys<ChannelKey>(value.keys, isSecretKey) }
}

/** Parses the text of a file of backup keys. Throws as `parseChannelKeys`. */
export function parseBackupKeys(text: string): BackupKeySet {
  return { keys: parseKeys<BackupKey>(parseObject(text).keys, isSecretKey) }
}

function isSecretKey({ id, secret }: Record<string, unknown>): boolean {
  if (typeof id !== 'string' || !KEY_ID.test(id) || typeof secret !== 'string') return false
  return Buffer.from(secret, 'base64url').length >= MIN_SECRET_BYTES
}

/**
 * Parses the text of a token key file, private or public.
 * @throws Error that names the fault and never shows the text
 */
export function parseTokenKeys(text: string): TokenKeySet {
  const keys = parseKeys<TokenKey>(
    parseObject(text).keys,
    ({ kty, crv, kid, x, d }) =>
      kty === 'OKP' &&
      crv === 'Ed25519' &&
      [kid, x].every((field) => typeof field === 'string' && field !== '') &&
      (d === undefined || typeof d === 'string'),
  )
  return { keys }
}

function parseKeys<T extends object>(value: unknown, isKey: (key: Record<string, unknown>) => boolean): T[] {
  if (!Array.isArray(value) || value.length === 0) throw new Error('has no "keys"')
  const isGood = (key: unknown): boolean => typeof key === 'object' && key !== null && isKey({ ...key })
  const bad = value.findIndex((key: unknown) => !isGood(key))
  if (bad >= 0) throw new Error(`has a key that is not well-formed, at index ${bad}`)
  return value as T[]
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('is not JSON')
  }
  if (typeof value !== 'object' || value === null) throw new Error('is not a JSON object')
  return value as Record<string, unknown>
}

function newChannelKey(): ChannelKeySet['keys'][number] {
  return { id: `k-${randomName(8)}`, secret: randomBytes(MIN_SECRET_BYTES).toString('base64url') }
}

function newTokenKey(): TokenKey {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: randomName(8), x, d }
}

function randomName(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

const MIN_SECRET_BYTES = 32
const KEY_ID = /^[a-z0-9-]{1,32}$/

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import ssh2 from 'ssh2'
import { encodeString } from './wire-types.ts'

/** Details of a stored key. */
export interface KeptKey {
  comment: string
  /** Called with a new key before other programs can find it. May be called twice for one key. */
  onMade?(key: string): void
  /** Reports that a key was replaced. */
  tell(message: string): void
}

/**
 * Returns the private key of a file. Creates it if the file is missing, or unreadable as after a power cut, and reports the latter.
 * Programs that start at the same time get the same key.
 */
export function ensureKey(path: string, kept: KeptKey): string {
  if (!existsSync(path)) makeFirst(path, kept)
  const reason = faultOf(readFileSync(path, 'utf8'))
  if (reason !== null) {
    replace(path, kept)
    kept.tell(`Created a new key, because ${path} is not readable: ${reason}.`)
  }
  return readFileSync(path, 'utf8')
}

/** Returns why SSH cannot use a text as a private key, or null if it can. */
export function faultOf(text: string): string | null {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) return key.message
  return key.isPrivateKey() ? null : 'It is a public key'
}

/** Parses a private key. @throws Error if it is invalid */
export function parsePrivateKey(text: string): ssh2.ParsedKey {
  const key = ssh2.utils.parseKey(text)
  if (key instanceof Error) throw new Error(`A key of Boxyard cannot be read: ${key.message}`, { cause: key })
  return key
}

/** Returns the public half of a private key in the format of `known_hosts` and `authorized_keys`. */
export function publicKeyText(privateKey: string): string {
  const key = parsePrivateKey(privateKey)
  return `${key.type} ${key.getPublicSSH().toString('base64')}`
}

/**
 * Creates an Ed25519 key in OpenSSH's format (PROTOCOL.key), without a passphrase. ssh2 can also create keys, but drops leading zeros of
 * the public key. One in 256 of its keys is therefore unreadable.
 */
export function makeSshKey(comment: string): string {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return formatSshKey(Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url'), comment)
}

/** Formats the 32 bytes of each half of an Ed25519 key in the form of OpenSSH. */
export function formatSshKey(secret: Uint8Array, open: Uint8Array, comment: string): string {
  const publicBlob = Buffer.concat([encodeString(ED25519), encodeString(open)])
  // The same value twice. With a passphrase, it shows whether the passphrase was right.
  const check = randomBytes(4)
  const privateBlob = Buffer.concat([
    check,
    check,
    publicBlob,
    encodeString(Buffer.concat([secret, open])),
    encodeString(comment),
  ])
  const padding = Uint8Array.from({ length: -privateBlob.length & (BLOCK_BYTES - 1) }, (_, index) => index + 1)
  const keyCount = Uint8Array.of(0, 0, 0, 1)
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[encodeString('none'), encodeString('none'), encodeString(''), keyCount],
    encodeString(publicBlob),
    encodeString(Buffer.concat([privateBlob, padding])),
  ])
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? []
  const label = 'OPENSSH PRIVATE KEY'
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}

function makeFirst(path: string, kept: KeptKey): void {
  withDraft(path, kept, (draft) => {
    kept.onMade?.(readFileSync(draft, 'utf8'))
    linkIfMissing(draft, path)
  })
}

/**
 * Replaces an unreadable key. `<path>.next` is the new key for all programs that replace it at the same time. If the program that created
 * it ends before it renames the file, the others finish for it.
 */
function replace(path: string, kept: KeptKey): void {
  const next = `${path}.next`
  withDraft(path, kept, (draft) => {
    if (existsSync(next) && faultOf(readFileSync(next, 'utf8')) !== null) rmSync(next, { force: true })
    linkIfMissing(draft, next)
    try {
      // Another program may have replaced it since the read.
      if (faultOf(readFileSync(path, 'utf8')) === null) return rmSync(next, { force: true })
      kept.onMade?.(readFileSync(next, 'utf8'))
      renameSync(next, path)
    } catch (error) {
      // Another program has finished.
      if (!isCode(error, 'ENOENT')) throw error
    }
  })
}

function withDraft(path: string, { comment }: KeptKey, use: (draft: string) => void): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, makeSshKey(comment), { mode: 0o600, flush: true })
  try {
    use(draft)
  } finally {
    rmSync(draft, { force: true })
  }
}

function linkIfMissing(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}

const ED25519 = 'ssh-ed25519'
const BLOCK_BYTES = 8

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import { type FlowOwner, projectOwner } from './rotation.ts'

/** A part of a backup. The object of this name in the backup's directory holds its bytes. */
export interface BackupPart {
  name: string
  sizeBytes: number
  sha256: string
}

const idSchema = z.string().regex(/^[a-z]{3}_[0-9a-z]{26}$/)
const nameSchema = z.string().regex(/^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/)
const countSchema = z.int().min(0)

const manifestSchema = z.strictObject({
  format: z.literal(1),
  id: idSchema,
  project: nameSchema,
  volume: z.strictObject({ id: idSchema, name: nameSchema, size_gb: z.number().positive(), used_bytes: countSchema }),
  created_at: countSchema,
  incremental_of: idSchema.nullable(),
  automatic: z.boolean(),
  size_bytes: countSchema,
  parts: z.array(
    z.strictObject({
      name: z.string().regex(/^part-\d{5,7}\.zst$/),
      size_bytes: countSchema,
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
})

/**
 * The description of a backup. It has everything that another deployment needs to restore it, except its parts and the backups it builds
 * on.
 */
export type BackupManifest = z.infer<typeof manifestSchema>

/** Returns the directory of a backup in the store. */
export function backupDirectory(project: string, volumeId: string, id: string): string {
  return `${volumesDirectory(project)}${volumeId}/${id}/`
}

/** Returns the owner of an object by its name. */
export function backupOwnerOf(name: string): FlowOwner {
  const [, project = '', , volumeId = ''] = name.split('/')
  return projectOwner(project, volumeId)
}

/** Returns the prefix of the names of all objects of a project. */
export function volumesDirectory(project: string): string {
  return `projects/${project}/volumes/`
}

/** Parses the name of an object to its backup and file, or returns null for any other name. */
export function objectOf(name: string): { project: string; volumeId: string; id: string; file: string } | null {
  const [, project, volumeId, id, file] = OBJECT.exec(name) ?? []
  if (project === undefined || volumeId === undefined || id === undefined || file === undefined) return null
  return { project, volumeId, id, file }
}

/** Returns the name of the part at `index`. */
export function partName(index: number): string {
  return `part-${String(index).padStart(5, '0')}.zst`
}

/** A key of a deployment that signs manifests. `secret`: base64url. */
export interface BackupKey {
  id: string
  secret: string
}

/** A decoded manifest. */
export interface DecodedManifest {
  manifest: BackupManifest
  /** Digest of the manifest, without the signature. */
  sha256: string
  /**
   * `good` means that a given key signed it for its place. `none` means a manifest from before signatures. `unknown` means a signature of
   * the key `keyId`, which is not given.
   */
  signature: { kind: 'good' } | { kind: 'none' } | { kind: 'unknown'; keyId: string }
}

/**
 * Encodes a manifest as a line of JSON with the digest of the rest. The line also holds the signature (HMAC-SHA-256) of the rest and its
 * place in the store.
 */
export function encodeManifest(manifest: BackupManifest, key: BackupKey): { text: string; sha256: string } {
  // In the order of the schema, independent of the caller.
  const ordered = manifestSchema.parse(manifest)
  const sha256 = digestOf(ordered)
  return { text: lineOf({ ...ordered, sha256, key: key.id, hmac: signatureOf(ordered, key).toString('hex') }), sha256 }
}

/**
 * Decodes the text of `encodeManifest`. Returns null for any other text, even if one bit differs, and for a wrong signature of a given key.
 */
export function decodeManifest(text: string, keys: readonly BackupKey[]): DecodedManifest | null {
  try {
    const { sha256, key, hmac, ...rest } = JSON.parse(text) as Record<string, unknown>
    const parsed = manifestSchema.safeParse(rest)
    if (!parsed.success || sha256 !== digestOf(parsed.data)) return null
    const manifest = parsed.data
    if (key === undefined && hmac === undefined)
      return text === lineOf({ ...manifest, sha256 }) ? { manifest, sha256, signature: { kind: 'none' } } : null
    if (typeof key !== 'string' || !KEY_ID.test(key) || typeof hmac !== 'string' || !HMAC.test(hmac)) return null
    if (text !== lineOf({ ...manifest, sha256, key, hmac })) return null
    const known = keys.find(({ id }) => id === key)
    if (known === undefined) return { manifest, sha256, signature: { kind: 'unknown', keyId: key } }
    const isGood = timingSafeEqual(signatureOf(manifest, known), Buffer.from(hmac, 'hex'))
    return isGood ? { manifest, sha256, signature: { kind: 'good' } } : null
  } catch {
    return null
  }
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`
}

function signatureOf(manifest: BackupManifest, { secret }: BackupKey): Buffer {
  const place = backupDirectory(manifest.project, manifest.volume.id, manifest.id)
  const signed = `${PURPOSE}\n${place}\n${JSON.stringify(manifest)}`
  return createHmac('sha256', Buffer.from(secret, 'base64url')).update(signed).digest()
}

function digestOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/** The object that completes a backup, written last. */
export const MANIFEST = 'manifest.json'
/** The object that marks a backup as deleted for clients. It stays only for the backups that build on it. */
export const DELETED = 'deleted.json'

const OBJECT = /^projects\/([a-z0-9-]{1,63})\/volumes\/(vol_[0-9a-z]{26})\/(bak_[0-9a-z]{26})\/([A-Za-z0-9._-]+)$/
const PURPOSE = 'boxyard backup manifest'
const KEY_ID = /^[a-z0-9-]{1,32}$/
const HMAC = /^[0-9a-f]{64}$/

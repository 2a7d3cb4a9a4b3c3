import { createHash } from 'node:crypto'
import * as z from 'zod'

/** A part of a backup: its bytes are those of the object of that name in the backup's directory. */
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

/** What a backup is: all that another deployment needs to restore it, but for its parts and those it builds on. */
export type BackupManifest = z.infer<typeof manifestSchema>

/** The directory of a backup in the store. */
export function backupDirectory(project: string, volumeId: string, id: string): string {
  return `${volumesDirectory(project)}${volumeId}/${id}/`
}

/** The beginning of the names of all objects of a project. */
export function volumesDirectory(project: string): string {
  return `projects/${project}/volumes/`
}

/** Of which backup, and what of it, an object is; null for one that is none of ours. */
export function objectOf(name: string): { project: string; volumeId: string; id: string; file: string } | null {
  const [, project, volumeId, id, file] = OBJECT.exec(name) ?? []
  if (project === undefined || volumeId === undefined || id === undefined || file === undefined) return null
  return { project, volumeId, id, file }
}

/** The name of the part at `index`. */
export function partName(index: number): string {
  return `part-${String(index).padStart(5, '0')}.zst`
}

/** A manifest as it is stored: a line of JSON, and in it the digest of the rest. */
export function encodeManifest(manifest: BackupManifest): { text: string; sha256: string } {
  // In the order of the schema, whoever made it.
  const ordered = manifestSchema.parse(manifest)
  const sha256 = digestOf(ordered)
  return { text: `${JSON.stringify({ ...ordered, sha256 })}\n`, sha256 }
}

/** Reads what `encodeManifest` wrote; null for anything else, were it by one bit. */
export function decodeManifest(text: string): { manifest: BackupManifest; sha256: string } | null {
  try {
    const { sha256, ...rest } = JSON.parse(text) as Record<string, unknown>
    const parsed = manifestSchema.safeParse(rest)
    if (!parsed.success || sha256 !== digestOf(parsed.data)) return null
    return text === encodeManifest(parsed.data).text ? { manifest: parsed.data, sha256 } : null
  } catch {
    return null
  }
}

function digestOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/** The object that makes a backup one, written last. */
export const MANIFEST = 'manifest.json'
/** The object that says that a backup is gone for clients, and stays only for those that build on it. */
export const DELETED = 'deleted.json'

const OBJECT = /^projects\/([a-z0-9-]{1,63})\/volumes\/(vol_[0-9a-z]{26})\/(bak_[0-9a-z]{26})\/([A-Za-z0-9._-]+)$/

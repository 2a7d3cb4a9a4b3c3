import * as z from 'zod'
import { booleanQuery, integerQuery, nameSchema, pageFields, pathTokenSchema, timestampSchema } from './common.ts'
import { forbid, notExactlyOne } from './field-rules.ts'

const pathText = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^\/[^\0]*$/, 'must be an absolute path')
  .optional()
  .meta({ description: 'Absolute path in the box.' })
const pathBase64 = z
  .string()
  .min(1)
  .max(21_848)
  .regex(/^L[w-z0-9+/_-][A-Za-z0-9+/_-]*={0,2}$/, 'must be base64 of an absolute path')
  .optional()
  .meta({ description: 'Path as base64 of its bytes, for paths that are not UTF-8. Use it instead of the plain path.' })
const pathFields = { path: pathText, path_base64: pathBase64 }

const modeSchema = z
  .string()
  .regex(/^[0-7]{3,4}$/, 'must be an octal mode such as 0644')
  .optional()
  .meta({ description: 'Permission bits in octal.' })

/** The query that names a file by `path` or `path_base64`. */
export const fileQuery = z.strictObject(pathFields)

const snapshotField = {
  snapshot: nameSchema.optional().meta({ description: 'Snapshot of the box to read from.' }),
}

/** The query of reads: of the current files, or of those in a snapshot. */
export const fileReadQuery = z.strictObject({ ...pathFields, ...snapshotField })

/** The query of `DELETE B/files`. */
export const fileDeleteQuery = z.strictObject({
  ...pathFields,
  recursive: booleanQuery(false, 'Deletes a directory and its contents.'),
})

/** The query of `PUT B/files/write`. JSON can carry the same. */
export const fileWriteQuery = z.strictObject({
  ...pathFields,
  mode: modeSchema,
  parents: z
    .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    .optional()
    .meta({ description: 'Creates missing directories.', override: { type: 'boolean' } }),
})

/** The query of `GET B/files/list`. */
export const fileListQuery = z.strictObject({
  ...pathFields,
  ...snapshotField,
  recursive: booleanQuery(false, 'Also lists subdirectories, 64 levels deep unless `depth` is given.'),
  depth: integerQuery(1, 64)
    .optional()
    .meta({ description: 'Number of directory levels to list. 1 lists only the directory itself.' }),
  max_results: integerQuery(1, 10_000)
    .default(1000)
    .meta({
      description: 'Maximum number of entries on a page.',
      override: { type: 'integer', minimum: 1, maximum: 10_000, default: 1000 },
    }),
  continuation_token: pathTokenSchema,
})

/** A file, with the fields of lstat. */
export const fileSchema = z
  .looseObject({
    path: z.string().meta({
      description: 'Path in the box, or relative to the listed directory. U+FFFD replaces bytes that are not UTF-8.',
    }),
    path_base64: z.string().nullable().meta({ description: 'Path in base64, if it is not UTF-8. Null otherwise.' }),
    type: z.enum(['file', 'directory', 'symlink', 'block', 'character', 'fifo', 'socket']),
    size_bytes: z
      .int()
      .meta({ description: 'Size from lstat, in bytes. For a symbolic link, the length of its target.' }),
    mode: z.string().meta({ description: 'Permission bits in octal, such as 0644.' }),
    uid: z.int().meta({ description: 'User id of the owner, as the box sees it. 65534 if the box has no such id.' }),
    gid: z.int().meta({ description: 'Group id, as the box sees it. 65534 if the box has no such id.' }),
    modified_at: timestampSchema,
    target: z.string().nullable().meta({ description: 'Target of a symbolic link. Null for other types.' }),
    etag: z
      .string()
      .meta({ description: 'Tag for `If-Match` and `If-None-Match`. Changes with the content or metadata.' }),
  })
  .meta({ id: 'FileEntry' })

/** A file with its content, for `Accept: application/json`. */
export const fileContentSchema = fileSchema
  .extend({
    content: z.string().meta({ description: 'The whole file, in the given `encoding`.' }),
    encoding: z
      .enum(['utf-8', 'base64'])
      .meta({ description: '`utf-8` if the whole file is valid UTF-8. Otherwise `base64`.' }),
  })
  .meta({ id: 'FileContent' })

/** `GET B/files/list`: entries by the bytes of their names, level by level. */
export const fileListSchema = z.looseObject({ files: z.array(fileSchema), ...pageFields }).meta({ id: 'FileList' })

/** `PUT B/files/write` as JSON. */
export const fileWriteBodySchema = z
  .strictObject({
    ...pathFields,
    content: z.string().meta({ description: 'Content of the file, in the given `encoding`.' }),
    encoding: z.enum(['utf-8', 'base64']).optional().meta({ description: 'Encoding of `content`. Default: utf-8.' }),
    mode: modeSchema,
    parents: z.boolean().optional().meta({ description: 'Creates missing directories. Default: false.' }),
  })
  .meta({ id: 'FileWrite' })

/** `POST B/files/move`. */
export const fileMoveBodySchema = z
  .strictObject({
    from: pathText,
    from_base64: pathBase64,
    to: pathText,
    to_base64: pathBase64,
    overwrite: z.boolean().optional().meta({ description: 'Replaces an existing target. Default: false.' }),
  })
  .meta({
    id: 'FileMove',
    override: forbid(...notExactlyOne('from', 'from_base64'), ...notExactlyOne('to', 'to_base64')),
  })

/** `POST B/files/restore`. */
export const fileRestoreBodySchema = z
  .strictObject({ ...pathFields, snapshot: nameSchema.meta({ description: 'Snapshot to restore the path from.' }) })
  .meta({ id: 'FileRestore', override: forbid(...notExactlyOne('path', 'path_base64')) })

/** `POST B/files/mkdir`. */
export const directoryBodySchema = z
  .strictObject({
    ...pathFields,
    mode: modeSchema,
    parents: z.boolean().optional().meta({ description: 'Creates missing parent directories. Default: false.' }),
  })
  .meta({ id: 'DirectoryCreate', override: forbid(...notExactlyOne('path', 'path_base64')) })

/** The report of `PUT B/files/archive`. */
export const unpackReportSchema = z
  .looseObject({
    entries: z.int().meta({ description: 'Number of files, directories and links created.' }),
    refused: z
      .array(
        z.looseObject({
          path: z.string().meta({ description: 'Path in the archive, truncated after 1,024 bytes.' }),
          reason: z.string(),
        }),
      )
      .meta({ description: 'The first 1,000 refused entries with reasons.' }),
    refused_count: z.int().meta({ description: 'Total number of refused entries.' }),
  })
  .meta({ id: 'UnpackReport' })

/** The path of a box. */
export const filesParams = z.strictObject({ project: nameSchema, name: nameSchema })

export type FileResource = z.infer<typeof fileSchema>

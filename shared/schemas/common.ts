import * as z from 'zod'
import { RESERVED_HOST_NAMES } from '../reserved-names.ts'

/** The name of a node of a cluster, or of this host. */
export const nodeNameSchema = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be the name of a node')

/** Project, box, volume, snapshot, base and service names (docs/api.md#conventions). */
export const nameSchema = z
  .string()
  .regex(
    /^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/,
    'must be 1–63 of a–z, 0–9 and single hyphens, with a letter or digit at both ends',
  )
  .meta({ id: 'Name', description: 'A name, unique in its project.', examples: ['web'] })

/** The name of a new box, which is also its host name. */
export const boxNameSchema = nameSchema
  .refine((name) => !RESERVED_HOST_NAMES.has(name), {
    error: 'must not be a name that Linux reserves for the machine itself, such as localhost. Choose another',
  })
  .meta({
    description:
      'Name and host name of the box, unique in its project. Names that Linux reserves, such as `localhost`, are not allowed.',
  })

/** A project in the path of a list: a name, or `-` for every project that the token can read. */
export const projectOrAllSchema = z
  .string()
  .regex(/^(?=.{1,63}$)([a-z0-9]+(-[a-z0-9]+)*|-)$/, 'must be a project name, or "-" for every project')
  .meta({ description: 'A project name, or `-` for every project the token can read.' })

/** RFC 3339, UTC, milliseconds. */
export const timestampSchema = z
  .string()
  .meta({ id: 'Timestamp', description: 'RFC 3339 in UTC, with milliseconds.', format: 'date-time' })

/** Type prefixes of identifiers, by the fields that clients send. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  ...{ backup: 'bak', from_backup: 'bak', exec: 'exe', exec_id: 'exe', operation: 'opr', token: 'tok' },
}

/** An identifier: type prefix, `_`, 26 base32 characters that sort by time. */
export const idSchema = z
  .string()
  .regex(/^[a-z]{3}_[0-9a-z]{26}$/, {
    error: ({ path }) => `must be an identifier such as ${ID_PREFIXES[String(path?.at(-1))] ?? 'box'}_01jd…`,
  })
  .meta({ id: 'Id', description: 'A type prefix, `_`, then 26 base32 characters that sort by time.' })

/** Maximum bytes, as JSON, of the environment of a box, or of environment and commands of a service, because records store them. */
export const DEFINITION_BYTES = 131_072

/** Returns the length, as JSON, of parts of a definition, such as its environment and its command. Pure. */
export function definitionBytes(...parts: readonly unknown[]): number {
  return parts.reduce<number>((sum, part) => sum + new TextEncoder().encode(JSON.stringify(part) ?? '').length, 0)
}

/** Environment of a box or a command. The core refuses `BOX_*` and `BOXYARD_*` as `environment_reserved`. */
export const environmentSchema = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/, 'names match [A-Za-z_][A-Za-z0-9_.-]*, at most 255 characters'),
    withoutNul(z.string().max(32_768)),
  )
  .refine((map) => Object.keys(map).length <= 512, 'at most 512 variables')
  .meta({ id: 'Environment', description: 'Variables by name. `BOX_*` and `BOXYARD_*` are reserved.' })

/** Environment of a box, which its record stores. */
export const boxEnvironmentSchema = environmentSchema.refine((map) => definitionBytes(map) <= DEFINITION_BYTES, {
  error: `must be at most ${DEFINITION_BYTES} bytes as JSON`,
})

/** Tags of a resource. Every key of a Kubernetes label or annotation is valid. */
export const tagsSchema = z
  .record(
    z.string().regex(/^[A-Za-z0-9_.:/-]{1,317}$/, 'keys are 1–317 of A–Z a–z 0–9 _ . - : /'),
    withoutNul(z.string()).refine((value) => new TextEncoder().encode(value).length <= 256, 'at most 256 bytes'),
  )
  .refine((map) => Object.keys(map).length <= 64, 'at most 64 tags')
  .meta({
    id: 'Tags',
    description: 'Tags by key. A key is 1–317 of A–Z a–z 0–9 _ . - : /, such as `app.kubernetes.io/name`.',
  })

/** A whole number in a query string, within bounds. */
export function integerQuery(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .meta({ override: { type: 'integer', minimum: min, maximum: max } })
}

/** A boolean in a query string. Default: `fallback`. */
export function booleanQuery(fallback: boolean, description: string) {
  return z
    .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    .default(fallback ? 'true' : 'false')
    .transform((text) => text === 'true' || text === '1')
    .meta({ description, override: { type: 'boolean', default: fallback } })
}

/** `?wait_seconds=` takes 0–25, by default `fallback`. 25 keeps clear of API Gateway's 30 s (docs/api.md#waiting). */
export function waitSeconds(fallback: number, description: string) {
  const override = { type: 'integer' as const, minimum: 0, maximum: 25, default: fallback }
  return integerQuery(0, 25).default(fallback).meta({ description, override })
}

/** How long a mutation waits for its effect before it answers. */
export const waitQuery = z.strictObject({
  wait_seconds: waitSeconds(20, 'Seconds to wait for the effect before the response.'),
})

/** An empty query. */
export const noQuery = z.strictObject({})

/** A path without parameters. */
export const noParams = z.strictObject({})

/** Paging of every list (docs/api.md#lists). */
export const pageQuery = z.strictObject({
  max_results: integerQuery(1, 1000)
    .default(100)
    .meta({
      description: 'Maximum number of resources on a page.',
      override: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    }),
  continuation_token: z
    .string()
    .max(1024)
    .optional()
    .meta({ description: '`next_continuation_token` from the previous page.' }),
})

/** The token of a list of paths. It is base64 of at most 16,384 bytes and a mark, which fits into the head of a request (32 KiB). */
export const pathTokenSchema = z
  .string()
  .max(21_860)
  .optional()
  .meta({ description: '`next_continuation_token` from the previous page.' })

/** The fields of every list's answer besides its array. */
export const pageFields = {
  has_more: z.boolean().meta({ description: 'Whether there is another page.' }),
  next_continuation_token: z
    .string()
    .nullable()
    .meta({ description: '`continuation_token` for the next page. Null on the last page.' }),
}

/** Texts that a query repeats, or joins by commas. */
export const TEXTS = { type: 'array', items: { type: 'string', maxLength: 4096 }, maxItems: 64 } as const

/** At least one tag, none with an empty key. */
const TAG_LIST = '^,*[^,=][^,]*(,([^,=][^,]*)?)*$'

/** The `tag` of a list: `key` or `key=value`, comma separated or repeated. All must match. */
export const tagQuery = z
  .union([z.string().max(4096), z.array(z.string().max(4096)).max(64)])
  .refine((tag) => countTags(tag) <= 64, 'at most 64 tags')
  // Without a filter a list has everything, which a client that sends one does not mean.
  .refine(namesTags, 'must name a tag, as `key` or `key=value`; without the parameter, the list has all')
  .optional()
  .meta({
    description: 'Tags to match, as `key` or `key=value`, comma separated or repeated. All must match.',
    override: { ...TEXTS, items: { ...TEXTS.items, pattern: TAG_LIST } },
  })

/** The start of the names to list. */
export const prefixQuery = z
  .string()
  .max(63)
  .optional()
  .meta({ description: 'Lists only names that start with this prefix.' })

/** The protocol of URLs to a port. */
export const protocolSchema = z.enum(['http', 'h2c']).meta({
  description:
    'Protocol of the port: `http`, the default, or `h2c`. `h2c` is HTTP/2 without TLS, for example for gRPC servers.',
})

/** A size in GiB, possibly fractional. */
export const gibSchema = z.number().positive('must be greater than 0').max(1_048_576)

/** Processors of a box. */
export const cpusSchema = z.number().min(0.05, 'must be at least 0.05').max(1024)

/** The mount point of a data volume. The core refuses `/`, `..` and paths below /proc, /sys and /dev as `path_invalid`. */
export const mountPathSchema = z
  .string()
  .max(4095)
  .regex(/^\/[^\0]*$/, 'must be an absolute path')
  .meta({ description: 'Absolute and normalized path. Must not be `/`, or below `/proc`, `/sys` or `/dev`.' })

/** Describes a read-only field that is not compared, because its value may have changed after the client read it. */
export const MEASURED = { description: 'Read-only. You may send back the value that you read.' }

/** Read-only fields of a resource that an update can send back unchanged. The core checks them. */
export function readOnlyFields<const K extends string>(names: readonly K[]): Record<K, z.ZodUnknown> {
  const field = z.unknown().meta({ description: 'Read-only. You may send it back unchanged.' })
  return Object.fromEntries(names.map((name) => [name, field])) as Record<K, z.ZodUnknown>
}

function countTags(tag: string | string[]): number {
  return [tag].flat().flatMap(tagsOf).length
}

/** Returns whether each of the lists has a tag, and none has an empty key. */
function namesTags(tag: string | string[]): boolean {
  const lists = [tag].flat().map(tagsOf)
  return lists.every((tags) => tags.length > 0 && tags.every((item) => !item.startsWith('=')))
}

function tagsOf(list: string): string[] {
  return list.split(',').filter((item) => item !== '')
}

function withoutNul(text: z.ZodString) {
  return text.regex(/^[^\0]*$/, 'must not hold a NUL character')
}

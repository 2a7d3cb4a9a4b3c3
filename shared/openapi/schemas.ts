/** JSON Schema, or any other object of an OpenAPI document. */
type Schema = Record<string, unknown>

/**
 * Puts the schemas of an OpenAPI document into forms that client generators know, in place. Each accepts the same values as before.
 * - Text and numbers that may be null have both types at once. Go and TypeScript clients would lose the null of `anyOf` with a `$ref`.
 *   `x-boxyard-schema` holds the name of the former `$ref`.
 * - A pattern has no lookahead for its length, which RE2 lacks, and no `\0`, which Python reads as an octal number.
 * - Whole numbers that may exceed 32 bits say so.
 * - Named enums that share a value name their constants, which Go has one space for.
 */
export function plainSchemas(document: Schema): void {
  const named = (document as unknown as { components: { schemas: Record<string, Schema> } }).components.schemas
  visit(document, (schema) => {
    joinNull(schema, named)
    plainPattern(schema)
    sizeInteger(schema)
  })
  nameEnums(named)
}

/** Calls `change` for all objects below `value` but examples, the innermost first. */
function visit(value: unknown, change: (schema: Schema) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) if (!EXAMPLES.has(key)) visit(inner, change)
  if (!Array.isArray(value)) change(value as Schema)
}

function joinNull(schema: Schema, named: Record<string, Schema>): void {
  if (!Array.isArray(schema.anyOf) || schema.anyOf.length !== 2) return
  const [one, other] = schema.anyOf as [Schema, Schema]
  if (other.type !== 'null') return
  const name = typeof one.$ref === 'string' ? one.$ref.split('/').at(-1) : undefined
  const plain = name === undefined ? one : named[name]
  if (plain === undefined || !isPlain(plain)) return
  const own = { ...schema }
  delete own.anyOf
  delete schema.anyOf
  Object.assign(schema, plain, own, { type: [plain.type, 'null'] })
  if (name !== undefined) schema['x-boxyard-schema'] = name
}

function isPlain({ type, enum: values }: Schema): boolean {
  return values === undefined && typeof type === 'string' && PLAIN_TYPES.has(type)
}

function plainPattern(schema: Schema): void {
  if (typeof schema.pattern !== 'string') return
  const [, max, rest] = LENGTH_LOOKAHEAD.exec(schema.pattern) ?? []
  if (max !== undefined) Object.assign(schema, { minLength: 1, maxLength: Number(max) })
  schema.pattern = (rest === undefined ? schema.pattern : `^${rest}`).replaceAll('\\0', '\\x00')
}

function sizeInteger(schema: Schema): void {
  if (![schema.type].flat().includes('integer')) return
  const isShort = Math.abs(Number(schema.minimum)) < 2 ** 31 && Math.abs(Number(schema.maximum)) < 2 ** 31
  if (!isShort) schema.format = 'int64'
}

function nameEnums(named: Record<string, Schema>): void {
  const enums = Object.entries(named).filter(([, schema]) => Array.isArray(schema.enum))
  const uses = new Map<unknown, number>()
  for (const [, schema] of enums) {
    for (const value of schema.enum as unknown[]) uses.set(value, (uses.get(value) ?? 0) + 1)
  }
  for (const [name, schema] of enums) {
    const values = schema.enum as string[]
    if (values.every((value) => uses.get(value) === 1)) continue
    const prefix = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
    schema['x-enum-varnames'] = values.map((value) => `${prefix}_${value.toUpperCase()}`)
  }
}

const EXAMPLES: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum'])
const PLAIN_TYPES: ReadonlySet<string> = new Set(['string', 'integer', 'number', 'boolean'])
const LENGTH_LOOKAHEAD = /^\^\(\?=\.\{1,(\d+)\}\$\)(.*)$/

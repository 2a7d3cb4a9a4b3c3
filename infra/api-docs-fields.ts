import { tableOf } from './markdown.ts'

/** JSON Schema as the OpenAPI document uses it, limited to the keywords that the tables show. */
export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  description?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minItems?: number
  maxItems?: number
  maxLength?: number
  /** Name of the schema that was inlined to add null to `type`. */
  'x-boxyard-schema'?: string
}

/** Returns the link from the page being generated to the section of the schema `name`. */
export type LinkOf = (name: string) => string

/** Returns true for the schema of a request. Only these refuse unknown fields. */
export function isRequest({ additionalProperties }: JsonSchema): boolean {
  return additionalProperties === false
}

/**
 * Renders the fields of an object as a table, with nested ones as `outer.inner`. Marks required fields of requests, and optional ones of
 * answers.
 */
export function fieldTable(schema: JsonSchema, linkOf: LinkOf): string {
  return tableOf(['Field', 'Type', 'Description'], rowsOf(schema, { prefix: '', isRequest: isRequest(schema), linkOf }))
}

/** Describes the values that a schema accepts, in a few words of Markdown. */
export function typeOf(schema: JsonSchema, linkOf: LinkOf): string {
  const variants = schema.anyOf ?? schema.oneOf
  const joined = schema['x-boxyard-schema']
  if (schema.$ref !== undefined) return linkTo(schema.$ref, linkOf)
  if (joined !== undefined) return `${linkTo(joined, linkOf)} or null`
  if (variants) return [...new Set(variants.map((each) => typeOf(each, linkOf)))].join(' or ')
  if (schema.const !== undefined) return codeOf(schema.const)
  if (schema.enum) return schema.enum.map(codeOf).join(', ')
  const types = [schema.type ?? 'any value'].flat()
  return types.map((type) => plainType(type, schema, linkOf)).join(' or ')
}

interface RowContext {
  prefix: string
  isRequest: boolean
  linkOf: LinkOf
}

function rowsOf(schema: JsonSchema, context: RowContext): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${context.prefix}${name}`
    const isRequired = schema.required?.includes(name) === true
    const presence =
      context.isRequest && isRequired ? '**Required.**' : context.isRequest || isRequired ? '' : 'May be absent.'
    const row = [`\`${path}\``, typeOf(field, context.linkOf), [presence, noteOf(field)].filter(Boolean).join(' ')]
    const inner = objectWithin(field)
    return [row, ...(inner ? rowsOf(inner.schema, { ...context, prefix: `${path}${inner.joint}` }) : [])]
  })
}

/** Returns the object schema nested in a field or in the items of its list, or null. */
function objectWithin(field: JsonSchema): { schema: JsonSchema; joint: string } | null {
  if (field.properties) return { schema: field, joint: '.' }
  if (field.items?.properties) return { schema: field.items, joint: '[].' }
  const variant = (field.anyOf ?? field.oneOf)?.find(({ properties }) => properties !== undefined)
  return variant ? { schema: variant, joint: '.' } : null
}

/** Returns the description of a value followed by its default. */
export function noteOf({ description, default: fallback }: JsonSchema): string {
  const text = description === undefined ? '' : withPoint(description)
  return [text, fallback === undefined ? '' : `Default: ${codeOf(fallback)}.`].filter(Boolean).join(' ')
}

function plainType(type: string, schema: JsonSchema, linkOf: LinkOf): string {
  if (type === 'array') return `list of ${schema.items ? typeOf(schema.items, linkOf) : 'values'}${boundsOf(schema)}`
  if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    const { additionalProperties: values } = schema
    return Object.keys(values).length === 0 ? 'object' : `map of text to ${typeOf(values, linkOf)}`
  }
  return type === 'null' ? type : `${TYPE_NAMES[type] ?? type}${boundsOf(schema)}`
}

function boundsOf({ minimum, maximum, exclusiveMinimum, minItems, maxItems, maxLength }: JsonSchema): string {
  const low = isBound(minimum) ? `≥ ${minimum}` : isBound(exclusiveMinimum) ? `> ${exclusiveMinimum}` : ''
  const high = isBound(maximum) ? `≤ ${maximum}` : ''
  const items = [minItems ? `≥ ${minItems}` : '', maxItems === undefined ? '' : `≤ ${maxItems}`]
  const length = maxLength === undefined ? '' : `≤ ${maxLength} characters`
  const bounds = [low, high, ...items, length].filter(Boolean).join(', ')
  return bounds === '' ? '' : ` (${bounds})`
}

/** Omits the bounds of every safe integer, which zod writes for each integer. */
function isBound(bound: number | undefined): bound is number {
  return bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
}

function linkTo(ref: string, linkOf: LinkOf): string {
  const name = ref.split('/').at(-1) ?? ''
  return `[${name}](${linkOf(name)})`
}

function codeOf(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function withPoint(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

const TYPE_NAMES: Record<string, string> = { string: 'text', integer: 'whole number', boolean: 'true or false' }

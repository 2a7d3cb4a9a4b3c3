import { tableOf } from './markdown.ts'

/** A JSON Schema as the OpenAPI document has them, as far as tables tell of it. */
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
}

/** Where the section of a schema is, as a link from the page that is made. */
export type LinkOf = (name: string) => string

/** Whether a client sends it: only what is taken refuses unknown fields. */
export function isRequest({ additionalProperties }: JsonSchema): boolean {
  return additionalProperties === false
}

/** A table of the fields of an object, those within it as `outer.inner`; of a request the required ones are marked, else the absent. */
export function fieldTable(schema: JsonSchema, linkOf: LinkOf): string {
  return tableOf(['Field', 'Type', ''], rowsOf(schema, { prefix: '', isRequest: isRequest(schema), linkOf }))
}

/** What values a schema takes, in a few words of Markdown. */
export function typeOf(schema: JsonSchema, linkOf: LinkOf): string {
  const variants = schema.anyOf ?? schema.oneOf
  if (schema.$ref !== undefined) return linkTo(schema.$ref, linkOf)
  if (variants) return [...new Set(variants.map((each) => typeOf(each, linkOf)))].join(' or ')
  if (schema.const !== undefined) return codeOf(schema.const)
  if (schema.enum) return schema.enum.map(codeOf).join(', ')
  const types = [schema.type ?? 'any value'].flat()
  return types.map((type) => plainType(type, schema, linkOf)).join(' or ')
}

interface Place {
  prefix: string
  isRequest: boolean
  linkOf: LinkOf
}

function rowsOf(schema: JsonSchema, place: Place): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${place.prefix}${name}`
    const isRequired = schema.required?.includes(name) === true
    const presence =
      place.isRequest && isRequired ? '**Required.**' : place.isRequest || isRequired ? '' : 'May be absent.'
    const row = [`\`${path}\``, typeOf(field, place.linkOf), [presence, noteOf(field)].filter(Boolean).join(' ')]
    const inner = objectWithin(field)
    return [row, ...(inner ? rowsOf(inner.schema, { ...place, prefix: `${path}${inner.joint}` }) : [])]
  })
}

/** The object with fields of its own that a field is, or holds in a list. */
function objectWithin(field: JsonSchema): { schema: JsonSchema; joint: string } | null {
  if (field.properties) return { schema: field, joint: '.' }
  if (field.items?.properties) return { schema: field.items, joint: '[].' }
  const variant = (field.anyOf ?? field.oneOf)?.find(({ properties }) => properties !== undefined)
  return variant ? { schema: variant, joint: '.' } : null
}

/** What is said of a value, and what it is if it is left out. */
export function noteOf({ description, default: fallback }: JsonSchema): string {
  const text = description === undefined ? '' : withPoint(description)
  return [text, fallback === undefined ? '' : `By default ${codeOf(fallback)}.`].filter(Boolean).join(' ')
}

function plainType(type: string, schema: JsonSchema, linkOf: LinkOf): string {
  if (type === 'array') return `list of ${schema.items ? typeOf(schema.items, linkOf) : 'values'}${boundsOf(schema)}`
  if (type === 'object' && typeof schema.additionalProperties === 'object' && !schema.properties) {
    const { additionalProperties: values } = schema
    return Object.keys(values).length === 0 ? 'object' : `map of text to ${typeOf(values, linkOf)}`
  }
  return `${TYPE_NAMES[type] ?? type}${boundsOf(schema)}`
}

function boundsOf({ minimum, maximum, exclusiveMinimum, minItems, maxItems, maxLength }: JsonSchema): string {
  const low = isTold(minimum) ? `≥ ${minimum}` : isTold(exclusiveMinimum) ? `> ${exclusiveMinimum}` : ''
  const high = isTold(maximum) ? `≤ ${maximum}` : ''
  const items = [minItems ? `≥ ${minItems}` : '', maxItems === undefined ? '' : `≤ ${maxItems}`]
  const length = maxLength === undefined ? '' : `≤ ${maxLength} characters`
  const bounds = [low, high, ...items, length].filter(Boolean).join(', ')
  return bounds === '' ? '' : ` (${bounds})`
}

/** What every number is bounded by is no bound. */
function isTold(bound: number | undefined): bound is number {
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

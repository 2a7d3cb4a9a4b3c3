import type { Field, FieldKind, Fields, Route } from './shape.ts'

/** JSON Schema, or any other object of an OpenAPI document. */
type Schema = Readonly<Record<string, unknown>>

export interface Document {
  paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  components: { schemas: Readonly<Record<string, Schema>> }
}

interface DocumentedOperation {
  parameters?: readonly { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { content: Readonly<Record<string, { schema: Schema }>> }
  responses: Readonly<Record<string, DocumentedResponse>>
}

interface DocumentedResponse {
  description: string
  content?: Readonly<Record<string, { schema: Schema }>>
}

/** Whether a client sends or receives the values of a schema. */
type Direction = 'sent' | 'received'

/**
 * Compares routes of an OpenAPI document with the specification. A service may accept more than the specification shows, and answer with
 * more fields and fewer types. A client of the specification still works with such a service.
 */
export class DocumentCheck {
  readonly #document: Document

  constructor(document: Document) {
    this.#document = document
  }

  /** Returns the faults of a route, one line each. */
  faultsOf(route: Route): string[] {
    const operation = this.operationOf(route)
    if (operation === undefined) return ['the route is missing']
    return [
      ...this.#faultsOfParameters(operation, route),
      ...this.#faultsOfBody(operation, route),
      ...this.#faultsOfAnswer(operation, route),
    ]
  }

  operationOf({ method, path }: Route): DocumentedOperation | undefined {
    return this.#document.paths[path]?.[method.toLowerCase()]
  }

  #faultsOfParameters({ parameters = [] }: DocumentedOperation, route: Route): string[] {
    const missing = route.parameters.flatMap((name) => {
      const own = parameters.find((each) => each.in === 'path' && each.name === name)
      if (own?.required !== true) return [`path parameter ${name} is not required`]
      return this.#faultsOfField(own.schema, { kind: 'string' }, { path: name, direction: 'sent' })
    })
    const extra = parameters.filter(({ in: place, name, required }) => {
      return required === true && !(place === 'path' && route.parameters.includes(name))
    })
    return [...missing, ...extra.map(({ name }) => `parameter ${name} is required`)]
  }

  #faultsOfBody({ requestBody }: DocumentedOperation, { body }: Route): string[] {
    const schema = requestBody?.content['application/json']?.schema
    if (body === null) return requestBody === undefined ? [] : ['it has a body']
    if (schema === undefined) return ['it has no JSON body']
    return this.#faultsOfFields(schema, body, { path: 'body', direction: 'sent' })
  }

  #faultsOfAnswer({ responses }: DocumentedOperation, { response, outcome }: Route): string[] {
    const good = Object.entries(responses).filter(([status]) => status.startsWith('2'))
    if (good.length === 0) return ['it has no successful answer']
    return good.flatMap(([status, { description, content }]) => {
      const schema = content?.['application/json']?.schema
      const words = outcome === null || description === outcome ? [] : [`${status} is described as ${description}`]
      if (schema === undefined) return [...words, `${status} is not JSON`]
      const shape =
        response === null ? [] : this.#faultsOfFields(schema, response, { path: status, direction: 'received' })
      return [...words, ...shape]
    })
  }

  #faultsOfFields(schema: Schema, fields: Fields, at: { path: string; direction: Direction }): string[] {
    const [own, ...others] = this.#alternativesOf(schema).filter(({ type }) => type === 'object')
    if (own === undefined || others.length > 0) return [`${at.path} is not one kind of object`]
    const properties = (own['properties'] ?? {}) as Readonly<Record<string, Schema>>
    const required = (own['required'] ?? []) as readonly string[]
    const known = Object.entries(fields).flatMap(([name, field]) => {
      const property = properties[name]
      const path = `${at.path}.${name}`
      if (property === undefined) return [`${path} is missing`]
      const lax = field.required === true && !required.includes(name) ? [`${path} is not required`] : []
      return [...lax, ...this.#faultsOfField(property, field, { path, direction: at.direction })]
    })
    const strict = at.direction === 'sent' ? required.filter((name) => isOptional(fields[name])) : []
    return [...known, ...strict.map((name) => `${at.path}.${name} is required`)]
  }

  #faultsOfField(schema: Schema, { kind, orNull }: Field, at: { path: string; direction: Direction }): string[] {
    const alternatives = this.#alternativesOf(schema)
    const hasNull = alternatives.some(({ type }) => type === 'null')
    const others = alternatives.filter(({ type }) => type !== 'null')
    if (at.direction === 'sent' && orNull === true && !hasNull) return [`${at.path} must not be null`]
    if (at.direction === 'received' && orNull !== true && hasNull) return [`${at.path} may be null`]
    if (others.length === 0) return [`${at.path} has no type`]
    return others.flatMap((each) => this.#faultsOfKind(each, kind, at))
  }

  #faultsOfKind(schema: Schema, kind: FieldKind, at: { path: string; direction: Direction }): string[] {
    const { type } = schema
    if (typeof kind !== 'string') {
      if ('fields' in kind) return this.#faultsOfFields(schema, kind.fields, at)
      if (type !== 'array') return [`${at.path} is of type ${String(type)}, not array`]
      return this.#faultsOfField(schema['items'] as Schema, { kind: kind.items }, { ...at, path: `${at.path}[]` })
    }
    const expected = TYPES[kind]
    if (!expected.includes(String(type))) return [`${at.path} is of type ${String(type)}, not ${expected.join(' or ')}`]
    if (kind === 'map' && !isOpen(schema)) return [`${at.path} takes no keys`]
    if (kind !== 'int32') return []
    const { format, minimum } = schema
    return format === 'int32' && minimum === 0
      ? []
      : [`${at.path} has format ${String(format)} from ${String(minimum)}`]
  }

  /** Returns a schema for each possible type of a value, without references. */
  #alternativesOf(schema: Schema): Schema[] {
    const { $ref: reference, anyOf, oneOf, type } = schema
    if (typeof reference === 'string') {
      const named = this.#document.components.schemas[reference.split('/').at(-1) ?? '']
      return named === undefined ? [] : this.#alternativesOf(named)
    }
    const several = anyOf ?? oneOf
    if (Array.isArray(several)) return several.flatMap((each: Schema) => this.#alternativesOf(each))
    return Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : [schema]
  }
}

/** Returns true for an object that allows keys beyond its schema. */
function isOpen({ additionalProperties }: Schema): boolean {
  return additionalProperties !== false
}

/** Returns true for a field that a client can leave out, such as one that the specification does not know. */
function isOptional(field: Field | undefined): boolean {
  return field === undefined || field.required === false
}

/** JSON Schema types by kind. The specification does not say whether numbers must be whole. */
const TYPES: Readonly<Record<Extract<FieldKind, string>, readonly string[]>> = {
  string: ['string'],
  boolean: ['boolean'],
  number: ['number', 'integer'],
  integer: ['integer'],
  int32: ['integer'],
  map: ['object'],
}

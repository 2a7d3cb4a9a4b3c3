/** A part of an OpenAPI document. */
type Part = Record<string, unknown>

/**
 * Opens the enumerations of answers, in a copy of the document. Each list of texts, or one text, can also be a text that a newer service
 * added. Generators then create a union with plain text. Enumerations that only requests hold stay closed, so that a misspelt value is
 * found.
 */
export function openAnswerEnums(document: Readonly<Part>): Part {
  const copy = structuredClone(document) as Part & {
    components: { schemas: Record<string, Part> }
    paths: Record<string, Record<string, Part>>
  }
  const { schemas } = copy.components
  const responses = Object.values(copy.paths)
    .flatMap((path) => Object.values(path))
    .map((operation) => operation['responses'] as Part)
  const answered = new Set<string>()
  for (const part of responses) findNames(part, schemas, answered)
  const isEnum = ({ $ref }: Part): boolean => Array.isArray(schemas[nameOf($ref)]?.['enum'])
  for (const part of [...responses, ...[...answered].map((name) => schemas[name])]) openWithin(part, isEnum)
  return copy
}

/** Adds the names of the schemas that a part refers to, and of those that these refer to. */
function findNames(part: unknown, schemas: Readonly<Record<string, Part>>, found: Set<string>): void {
  if (typeof part !== 'object' || part === null) return
  const name = nameOf((part as Part)['$ref'])
  if (name !== '' && !found.has(name)) {
    found.add(name)
    findNames(schemas[name], schemas, found)
  }
  for (const each of Object.values(part)) findNames(each, schemas, found)
}

/** Opens the fields within a schema, and the elements of lists, but not the schema itself. */
function openWithin(part: unknown, isEnum: (schema: Part) => boolean): void {
  if (typeof part !== 'object' || part === null) return
  const { properties = {}, ...rest } = part as Part & { properties?: Record<string, Part> }
  for (const [name, field] of Object.entries(properties)) {
    properties[name] = openSchema(field, name, isEnum)
    const { items } = field
    if (items !== undefined) field['items'] = openSchema(items as Part, `${name}_item`, isEnum)
    openWithin(field, isEnum)
  }
  for (const each of Object.values(rest)) openWithin(each, isEnum)
}

/** Opens one schema. Its title is the name that generators would have given it. */
function openSchema(schema: Part, title: string, isEnum: (schema: Part) => boolean): Part {
  const { description, ...rest } = schema
  const told = description === undefined ? {} : { description }
  if (typeof schema['const'] === 'string') return { ...told, type: 'string' }
  if (Array.isArray(schema['enum'])) return { ...told, anyOf: [{ ...rest, title }, { type: 'string' }] }
  return isEnum(schema) ? { ...told, anyOf: [rest, { type: 'string' }] } : schema
}

function nameOf(reference: unknown): string {
  return typeof reference === 'string' ? (reference.split('/').at(-1) ?? '') : ''
}

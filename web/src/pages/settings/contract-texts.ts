/** Returns the descriptions of all fields of a schema in an OpenAPI document, by their paths, such as `defaults.quota.cpus`. */
export function contractTexts(document: unknown, schema: string): Record<string, string> {
  const texts: Record<string, string> = {}
  const schemas = fieldOf(fieldOf(document, 'components'), 'schemas')
  const visit = (node: unknown, path: string, depth: number): void => {
    const { $ref: ref } = isRecord(node) ? node : {}
    const target = typeof ref === 'string' ? fieldOf(schemas, ref.slice(ref.lastIndexOf('/') + 1)) : node
    const properties = fieldOf(target, 'properties')
    if (depth > DEPTH_MAX || !isRecord(properties)) return
    for (const [name, field] of Object.entries(properties)) {
      const own = path === '' ? name : `${path}.${name}`
      const text = fieldOf(field, 'description')
      if (typeof text === 'string') texts[own] = text.replaceAll('`', '')
      visit(field, own, depth + 1)
    }
  }
  visit(fieldOf(schemas, schema), '', 0)
  return texts
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deeper than any schema of the contract, and a bound in case a schema contains itself. */
const DEPTH_MAX = 8

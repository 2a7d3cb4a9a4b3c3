/** A part of a JSON Schema. */
type Rule = Record<string, unknown>

/** Returns the constraints of a schema on the combination of an object's fields. Client generators ignore them. */
export function forbid(...forms: readonly Rule[]): Rule {
  return { not: forms.length === 1 ? forms[0] : { anyOf: forms } }
}

/** The combination in which all these fields are present. */
export function together(...fields: readonly string[]): Rule {
  return { required: fields }
}

/** The combination in which both fields are present, and neither is null. */
export function bothText(one: string, other: string): Rule {
  const type = { type: 'string' }
  return { ...together(one, other), properties: { [one]: type, [other]: type } }
}

/** The combinations in which zero or several of these fields are present. */
export function notExactlyOne(...fields: readonly string[]): Rule[] {
  const pairs = fields.flatMap((one, at) => fields.slice(at + 1).map((other) => together(one, other)))
  return [...pairs, { not: { anyOf: fields.map((field) => together(field)) } }]
}

/** A part of a JSON Schema. */
type Rule = Record<string, unknown>

/** Returns what a schema says, beside its fields, of forms that an object may not have. Generators of clients pass it over. */
export function forbid(...forms: readonly Rule[]): Rule {
  return { not: forms.length === 1 ? forms[0] : { anyOf: forms } }
}

/** The form in which all these fields are given. */
export function together(...fields: readonly string[]): Rule {
  return { required: fields }
}

/** The form in which both fields are given, and neither is null. */
export function bothText(one: string, other: string): Rule {
  const type = { type: 'string' }
  return { ...together(one, other), properties: { [one]: type, [other]: type } }
}

/** The forms in which not exactly one of these fields is given. */
export function notExactlyOne(...fields: readonly string[]): Rule[] {
  const pairs = fields.flatMap((one, at) => fields.slice(at + 1).map((other) => together(one, other)))
  return [...pairs, { not: { anyOf: fields.map((field) => together(field)) } }]
}

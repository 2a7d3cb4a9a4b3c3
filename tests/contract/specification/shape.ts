/** Type of a value, as the specification writes it. `int32` also has the bound 0, as the specification gives it no other way. */
export type FieldKind =
  | 'string'
  | 'boolean'
  | 'number'
  | 'integer'
  | 'int32'
  | 'map'
  | { fields: Fields }
  | { items: FieldKind }

export interface Field {
  kind: FieldKind
  /** True where the specification writes "or null". */
  orNull?: true
  /** As the column "Required" says. Absent without such a column. */
  required?: boolean
}

/** Fields by name. A name with dots, such as `host.cpu`, is an object within objects. */
export type Fields = Readonly<Record<string, Field>>

export interface Route {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  /** Names of the path parameters, which are all required strings. */
  parameters: readonly string[]
  /** Null without a body. */
  body: Fields | null
  /** Null if the specification does not show it. */
  response: Fields | null
  /** Words for the outcome. Null if the specification has none. */
  outcome: string | null
}

/** Returns `METHOD path`, by which tests name a route. */
export function nameOfRoute({ method, path }: Route): string {
  return `${method} ${path}`
}

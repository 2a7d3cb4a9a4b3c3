/**
 * Type of a value, in the specification's words. `int32` also includes the lower limit 0, which the specification expresses in no other
 * way.
 */
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
  /** Value of the column "Required". Absent without such a column. */
  required?: boolean
}

/** Fields by name. A name with dots, such as `host.cpu`, means a field in nested objects. */
export type Fields = Readonly<Record<string, Field>>

export interface Route {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  /** Names of the path parameters, which are all required strings. */
  parameters: readonly string[]
  /** Null if the route has no body. */
  body: Fields | null
  /** Null if the specification does not show the response. */
  response: Fields | null
  /** The specification's words for the outcome. Null if it has none. */
  outcome: string | null
}

/** Returns `METHOD path`, which tests use as a route's name. */
export function nameOfRoute({ method, path }: Route): string {
  return `${method} ${path}`
}

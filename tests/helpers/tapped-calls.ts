import type { DecoratedPorts } from '../../agent/compose/deployment.ts'

/** Name of a call of a port, such as `store.boxes.replace`. The compiler checks it against the ports. */
export type PortCall = { [Port in keyof DecoratedPorts]: CallsOf<DecoratedPorts[Port], Port> }[keyof DecoratedPorts]

// Distributes over unions of ports.
type CallsOf<T, Path extends string> = T extends unknown
  ? { [K in keyof T & string]: CallOrCalls<NonNullable<T[K]>, `${Path}.${K}`> }[keyof T & string]
  : never
type CallOrCalls<T, Path extends string> = T extends (...args: never[]) => unknown
  ? Path
  : T extends object
    ? CallsOf<T, Path>
    : never

/** Makes a call with `call`, or does something else instead. */
export type Tap = (name: string, call: () => unknown) => unknown

/** Returns `target` with its calls passed to `tap`, including calls of nested objects. Names of calls start with `path`. */
export function tapCalls<T extends object>(path: string, target: T, tap: Tap): T {
  const tapped = new Map<PropertyKey, unknown>()
  const tapValue = (name: string, value: unknown, object: T): unknown => {
    if (typeof value === 'function') return (...args: unknown[]) => tap(name, () => Reflect.apply(value, object, args))
    return typeof value === 'object' && value !== null ? tapCalls(name, value, tap) : value
  }
  return new Proxy(target, {
    get: (object, key) => {
      const value: unknown = Reflect.get(object, key, object)
      if (!isTapped(value)) return value
      if (!tapped.has(key)) tapped.set(key, tapValue(`${path}.${String(key)}`, value, object))
      return tapped.get(key)
    },
  })
}

function isTapped(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null && !('then' in value))
}

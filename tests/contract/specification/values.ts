import type { Field, FieldKind, Fields } from './shape.ts'

/** Returns the faults of a resource's fields, one line each. Every specified field must exist and have its type. */
export function faultsOfFields(value: unknown, fields: Fields, path = ''): string[] {
  if (!isObject(value)) return [`${path || 'the body'} is ${typeOf(value)}, not an object`]
  return Object.entries(fields).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`
    return Object.hasOwn(value, name) ? faultsOfField(value[name], field, own) : [`${own} is missing`]
  })
}

function faultsOfField(value: unknown, { kind, orNull }: Field, path: string): string[] {
  return value === null && orNull === true ? [] : faultsOfValue(value, kind, path)
}

function faultsOfValue(value: unknown, kind: FieldKind, path: string): string[] {
  if (typeof kind !== 'string') {
    if ('fields' in kind) return faultsOfFields(value, kind.fields, path)
    if (!Array.isArray(value)) return [`${path} is ${typeOf(value)}, not an array`]
    return value.flatMap((item, index) => faultsOfValue(item, kind.items, `${path}[${index}]`))
  }
  return CHECKS[kind](value) ? [] : [`${path} is ${JSON.stringify(value)}, not ${kind}`]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const INT32_END = 2 ** 31
const CHECKS: Readonly<Record<Extract<FieldKind, string>, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  int32: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < INT32_END,
  map: isObject,
}

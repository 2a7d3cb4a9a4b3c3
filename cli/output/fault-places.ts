import type { RequestFault } from '../../sdk/typescript/src/api-error.ts'
import type { Verb, VerbFlags } from '../verbs/verb.ts'
import { withTypedUnits } from './fault-units.ts'

/**
 * Describes a fault of a request with its place in the command line, such as `--ram-mb: must be at least 16m (16 MiB)`. Only values of flags
 * have units. A pure function.
 */
export function faultLine({ pointer, detail }: RequestFault, command: CommandShape, given: VerbFlags): string {
  const place = placeOf(pointer, command, given)
  const isFlag = place.startsWith('--') && !place.startsWith('--query')
  return `${place}: ${isFlag ? withTypedUnits(pointer.slice(pointer.lastIndexOf('/') + 1), detail) : detail}`
}

/** The fields of a command that name the places of faults. */
type CommandShape = Pick<Verb, 'args' | 'flags' | 'fills'>

/**
 * Returns the flag or argument that gave a faulty value of a request, such as `--ram-mb` for `/config/ram_mb`. Otherwise returns the field
 * of `--data`. If `given` has `--data` and no flag for the field, the field belongs to `--data`. A pure function.
 */
export function placeOf(pointer: string, { args, flags, fills = {} }: CommandShape, given: VerbFlags = {}): string {
  const path = pointer.split('/').slice(1).map(unescaped)
  const part = path.length > 1 && PARTS.has(path[0] ?? '') ? path.shift() : null
  const known = new Map(
    flags.flatMap(([flag]) => (flag.match(/--[a-z-]+/g) ?? []).map((name) => [name.slice(2), flag] as const)),
  )
  for (const [i, field] of path.entries()) {
    const name = [field.replaceAll('_', '-'), own(FLAGS, field) ?? ''].find(
      (each) => known.has(each) && isGiven(each, given),
    )
    if (name === undefined) continue
    const key = known.get(name)?.includes('<key=value') === true ? path[i + 1] : undefined
    return key === undefined ? `--${name}` : `--${name} ${key}`
  }
  const [first = ''] = path
  const argument = (name: string): string | undefined =>
    args.match(/<[^>]+>|\[[^\]]+\]/g)?.find((word) => word.replaceAll(/[<>[\].]/g, '') === name)
  const place = own(fills, first) ?? argument(first) ?? (first === 'name' ? argument('box') : undefined)
  if (place !== undefined) return place
  if (path.length === 0) return 'the request'
  if (part === 'path' && first === 'project') return '--project'
  if (part === 'query') return `--query ${path.join('.')}`
  return known.has('data') ? `${path.join('.')} of --data` : path.join('.')
}

/** Returns whether a flag can have given a value: the user typed the flag, or did not type `--data`. */
function isGiven(name: string, given: VerbFlags): boolean {
  const [first = '', ...more] = name.split('-')
  const option = [first, ...more.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)].join('')
  return given['data'] === undefined || given[option] !== undefined
}

/** Returns the text at a name that a service may have chosen. */
function own(texts: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined
}

function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Prefixes of pointers that do not lead into the body. */
const PARTS: ReadonlySet<string> = new Set(['path', 'query', 'headers'])
/** Flags whose name differs from the field that they fill. */
const FLAGS: Readonly<Record<string, string>> = {
  environment: 'env',
  tags: 'tag',
  data_mounts: 'mount',
  timeout_seconds: 'timeout',
  idle_stop_seconds: 'idle-stop',
  termination_grace_period_seconds: 'grace',
  grace_seconds: 'grace',
}

import type { Verb } from '../verbs/verb.ts'

/**
 * Says in the words of a command line where a fault of its request is: the flag or the argument that gave the value, as `--ram-mb`
 * for `/config/ram_mb`, else the field for `--data`. A pure function.
 */
export function placeOf(pointer: string, { args, flags, fills = {} }: Pick<Verb, 'args' | 'flags' | 'fills'>): string {
  const path = pointer.split('/').slice(1).map(unescaped)
  const part = path.length > 1 && PARTS.has(path[0] ?? '') ? path.shift() : null
  const known = new Map(flags.map(([flag]) => [/--([a-z-]+)/.exec(flag)?.[1] ?? '', flag]))
  for (const [i, field] of path.entries()) {
    const name = [field.replaceAll('_', '-'), FLAGS[field] ?? ''].find((each) => known.has(each))
    if (name === undefined) continue
    const key = known.get(name)?.includes('<key=value') === true ? path[i + 1] : undefined
    return key === undefined ? `--${name}` : `--${name} ${key}`
  }
  const [first = ''] = path
  const argument = (name: string): string | undefined =>
    args.match(/<[^>]+>|\[[^\]]+\]/g)?.find((word) => word.replaceAll(/[<>[\].]/g, '') === name)
  const place = fills[first] ?? argument(first) ?? (first === 'name' ? argument('box') : undefined)
  if (place !== undefined) return place
  if (path.length === 0) return 'the request'
  if (part === 'path' && first === 'project') return '--project'
  if (part === 'query') return `--query ${path.join('.')}`
  return known.has('data') ? `${path.join('.')} of --data` : path.join('.')
}

function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Where a pointer begins that does not lead into the body. */
const PARTS: ReadonlySet<string> = new Set(['path', 'query', 'headers'])
/** Flags that are not called as the field that they fill. */
const FLAGS: Readonly<Record<string, string>> = {
  environment: 'env',
  tags: 'tag',
  data_mounts: 'mount',
  timeout_seconds: 'timeout',
}

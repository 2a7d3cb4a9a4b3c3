import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { UsageError } from '../output/failures.ts'
import { pairsOf } from './plain.ts'
import type { VerbFlags } from './verb.ts'

/** A map of a resource, such as its tags, that flags of an update change by key. */
interface MapFlags {
  /** The field of the resource. */
  field: 'environment' | 'tags'
  /** The flag that sets keys, as the program calls it; likewise the others. */
  set: string
  unset: string
  replace: string
}

/** Variables of the environment. */
export const ENV_MAP: MapFlags = { field: 'environment', set: 'env', unset: 'unsetEnv', replace: 'replaceEnv' }
/** Tags. */
export const TAG_MAP: MapFlags = { field: 'tags', set: 'tag', unset: 'unsetTag', replace: 'replaceTags' }

/** The flags of these maps. */
export const ENV_MAP_FLAGS = [
  ['--env <key=value...>', 'variables to set, others stay; KEY alone as it is here'],
  ['--unset-env <key...>', 'variables to remove'],
  ['--replace-env', 'remove all variables that --env does not give'],
] as const
export const TAG_MAP_FLAGS = [
  ['--tag <key=value...>', 'tags to set, others stay'],
  ['--unset-tag <key...>', 'tags to remove'],
  ['--replace-tags', 'remove all tags that --tag does not give'],
] as const

type Fields = Partial<Record<MapFlags['field'], Record<string, string> | null>>

/**
 * Updates a resource whose maps the API replaces whole: changes keys of what the resource has, and begins again if it has changed since
 * it was read. `given` has the maps of `--data`, in the place of those that the resource has. @throws UsageError for a key that is set and removed
 */
export async function updateMaps(
  { maps, flags, given }: { maps: readonly MapFlags[]; flags: VerbFlags; given: Fields },
  read: () => Promise<{ body: Fields; headers: Headers }>,
  write: (changed: Fields, headers: Record<string, string>) => Promise<unknown>,
): Promise<void> {
  const named = maps.filter(({ set, unset, replace }) =>
    [set, unset, replace].some((flag) => flags[flag] !== undefined),
  )
  const isKnown = ({ field, replace }: MapFlags): boolean => flags[replace] === true || Object.hasOwn(given, field)
  const changesOf = (before: Fields): Fields =>
    Object.fromEntries(named.map((map) => [map.field, changedMap(map, flags, before[map.field] ?? {})]))
  if (named.every(isKnown)) return void (await write(changesOf(given), {}))
  for (let attempt = 1; ; attempt++) {
    const { body, headers } = await read()
    const etag = headers.get('etag')
    try {
      await write(changesOf({ ...body, ...given }), etag === null ? {} : { 'if-match': etag })
      return
    } catch (error) {
      const hasChanged = error instanceof ApiError && error.code === 'precondition_failed'
      if (!hasChanged || attempt === ATTEMPTS) throw error
    }
  }
}

/** Changes keys of a map as flags say. A pure function. @throws UsageError for a key that is set and removed */
function changedMap(
  { set, unset, replace }: MapFlags,
  flags: VerbFlags,
  before: Readonly<Record<string, string>>,
): Record<string, string> {
  const added = pairsOf(flags[set])
  const removed = Array.isArray(flags[unset]) ? flags[unset] : []
  const both = removed.find((key) => Object.hasOwn(added, key))
  if (both !== undefined) throw new UsageError(`--${set} and --unset-${set} both name ${both}.`)
  const kept = flags[replace] === true ? [] : Object.entries(before)
  return Object.fromEntries([...kept, ...Object.entries(added)].filter(([key]) => !removed.includes(key)))
}

/** Changes of others in a row that an update gives way to. */
const ATTEMPTS = 10

import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { strongEtag } from '../files/entity-tags.ts'
import { UsageError } from '../output/failures.ts'
import { pairsOf } from './plain.ts'
import type { VerbFlags } from './verb.ts'

/** A map of a resource, such as its tags, whose keys flags of an update change. */
interface MapFlags {
  /** The field of the resource. */
  field: 'environment' | 'tags'
  /** The flag that sets keys, as the program calls it. The other fields follow the same pattern. */
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
  ['--env <key=value...>', 'variables to set, others stay (KEY without a value copies yours)'],
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
 * Updates a resource whose maps the API replaces whole. Changes keys of the current maps, and restarts if the resource has changed since
 * the read. `given` holds the maps of `--data`, which replace the current ones.
 * @throws UsageError for keys that it cannot change in this way; Error if it cannot read the maps
 */
export async function updateMaps(
  { maps, flags, given }: { maps: readonly MapFlags[]; flags: VerbFlags; given: Fields },
  read: () => Promise<{ body: Fields; headers: Headers }>,
  write: (changed: Fields, headers: Record<string, string>) => Promise<unknown>,
): Promise<void> {
  const named = maps.filter(({ set, unset, replace }) =>
    [set, unset, replace].some((flag) => flags[flag] !== undefined),
  )
  for (const map of named) checkKeys(map, flags)
  const isKnown = ({ field, replace }: MapFlags): boolean => flags[replace] === true || Object.hasOwn(given, field)
  const changesOf = (before: Fields): Fields =>
    Object.fromEntries(named.map((map) => [map.field, changedMap(map, flags, before[map.field] ?? {})]))
  if (named.every(isKnown)) return void (await write(changesOf(given), {}))
  for (let attempt = 1; ; attempt++) {
    const { body, headers } = await read()
    const etag = strongEtag(headers)
    // For example, the cached state of a box whose host is unreachable has no maps.
    if (etag === null) throw new Error(unreadable(maps))
    try {
      await write(changesOf({ ...body, ...given }), { 'if-match': etag })
      return
    } catch (error) {
      const hasChanged = error instanceof ApiError && error.code === 'precondition_failed'
      if (!hasChanged || attempt === ATTEMPTS) throw error
    }
  }
}

function unreadable(maps: readonly MapFlags[]): string {
  const words = maps.map(({ field }) => (field === 'environment' ? 'variables' : field)).join(' and ')
  return `Its host does not answer, so its ${words} cannot be read. Nothing changed. Retry later.`
}

/** @throws UsageError for a key that is both set and removed, and for an invalid key to remove */
function checkKeys({ set, unset }: MapFlags, flags: VerbFlags): void {
  const added = pairsOf(flags[set], `--${set}`)
  for (const key of removedBy(flags[unset])) {
    if (key === '' || key.includes('='))
      throw new UsageError(`--unset-${set}: must be KEY without a value, not "${key}".`)
    if (Object.hasOwn(added, key)) throw new UsageError(`--${set} and --unset-${set} both name ${key}.`)
  }
}

function removedBy(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** Changes the keys of a map by flags. A pure function. */
function changedMap(
  { set, unset, replace }: MapFlags,
  flags: VerbFlags,
  before: Readonly<Record<string, string>>,
): Record<string, string> {
  const added = pairsOf(flags[set], `--${set}`)
  const removed = removedBy(flags[unset])
  const kept = flags[replace] === true ? [] : Object.entries(before)
  return Object.fromEntries([...kept, ...Object.entries(added)].filter(([key]) => !removed.includes(key)))
}

/** Number of concurrent changes in a row after which an update gives up. */
const ATTEMPTS = 10

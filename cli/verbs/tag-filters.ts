import { UsageError } from '../output/failures.ts'

/**
 * Reads the values of a `--tag` that selects, each `KEY` or `KEY=VALUE`, or returns null without one. A value without a key would select
 * everything, and the service reads one with a comma as two. A pure function. @throws UsageError
 */
export function tagFilterOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  const tags = value.map(String)
  for (const tag of tags) {
    if (tag.trim() === '' || tag.startsWith('=')) throw new UsageError(`--tag: must be KEY or KEY=VALUE, not "${tag}".`)
    if (tag.includes(','))
      throw new UsageError(`--tag: must be one KEY or KEY=VALUE, not "${tag}". Repeat the flag for more tags.`)
  }
  return tags
}

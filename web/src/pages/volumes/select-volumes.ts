import type { Volume } from '../../api/records.ts'
import { sortNaturally } from '../../ui/natural.ts'

/** Filters of the list of volumes, as in the address of the page. */
export interface VolumeFilter {
  text: string
  project: string
  /** `attached`, `free`, or empty for both. */
  use: string
  /** `name`, `size`, `used` or `created`. A leading `-` reverses the order. */
  sort: string
}

/** Returns the volumes that have all words of the text in their names, tags or boxes, in order. */
export function selectVolumes(volumes: readonly Volume[], { text, project, use, sort }: VolumeFilter): Volume[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sortNaturally(volumes, ({ project, name }) => `${project}/${name}`).filter(
    (volume) =>
      (project === '' || volume.project === project) &&
      (use === '' || (use === 'attached') === volume.attachments.length > 0) &&
      words.every((word) => wordsOf(volume).includes(word)),
  )
  const value = VALUES[sort.replace(/^-/, '')]
  if (value) found.sort((a, b) => compare(value(a), value(b)))
  return sort.startsWith('-') ? found.reverse() : found
}

function wordsOf({ project, name, tags, attachments }: Volume): string {
  const pairs = Object.entries(tags).map(([key, value]) => `${key}=${value}`)
  return `${project}/${name} ${pairs.join(' ')} ${attachments.map(({ box }) => box).join(' ')}`.toLowerCase()
}

function compare(a: number | string, b: number | string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

const VALUES: Readonly<Record<string, (volume: Volume) => number | string>> = {
  size: ({ size_gb }) => size_gb,
  used: ({ used_bytes }) => used_bytes ?? 0,
  created: ({ created_at }) => created_at,
}

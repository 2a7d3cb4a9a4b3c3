import type { Base } from '../../api/records.ts'
import { naturalKey, sortNaturally } from '../../ui/natural.ts'

/** Filters of the list of bases, as in the address of the page. */
export interface BaseFilter {
  text: string
  /** A project, `*` for shared ones, or empty for all. */
  project: string
  /** `name`, `size` or `created`. A leading `-` reverses the order. */
  sort: string
}

/** Returns the bases that have all words of the text in their names or sources, in order, with shared ones first. */
export function selectBases(bases: readonly Base[], { text, project, sort }: BaseFilter): Base[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sortNaturally(bases, ({ project, name }) => `${project ?? ''}/${name}`).filter(
    (base) =>
      (project === '' || (base.project ?? '*') === project) &&
      words.every((word) => `${baseName(base)} ${base.source}`.toLowerCase().includes(word)),
  )
  const value = VALUES[sort.replace(/^-/, '')]
  if (value) found.sort((a, b) => compare(value(a), value(b)))
  return sort.startsWith('-') ? found.reverse() : found
}

/** Returns the whole name of a base, such as `demo/app`. A shared one has no project. */
export function baseName({ project, name }: Pick<Base, 'project' | 'name'>): string {
  return project === null ? name : `${project}/${name}`
}

/** Returns the source of a base in words. */
export function sourceText(source: string): string {
  const [, kind = source, what = ''] = /^([a-z]+):(.*)$/.exec(source) ?? []
  if (kind === 'box') return what.includes('@') ? `snapshot ${what}` : `box ${what}`
  if (kind === 'oci') return what === '' ? 'image archive' : what.replace(/@sha256:.*/, '')
  return kind === 'tar' ? 'archive' : kind === 'host' ? 'built on the host' : source
}

function compare(a: number | string, b: number | string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

const VALUES: Readonly<Record<string, (base: Base) => number | string>> = {
  name: ({ name }) => naturalKey(name),
  size: ({ size_bytes }) => size_bytes ?? 0,
  created: ({ created_at }) => created_at,
}

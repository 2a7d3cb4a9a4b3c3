import type { Project } from '../../api/records.ts'
import { sortNaturally } from '../../ui/natural.ts'

/** Resources that a project uses, with its quota. */
export const AMOUNTS = [
  { key: 'boxes', name: 'Boxes', unit: '' },
  { key: 'cpus', name: 'CPU', unit: '' },
  { key: 'ram_mb', name: 'Memory', unit: 'MiB' },
  { key: 'storage_gb', name: 'Storage', unit: 'GiB' },
] as const

export type AmountKey = (typeof AMOUNTS)[number]['key']

/** Returns how full the fullest quota of a project is, from 0. Above 1 it exceeds its quota. Null without a quota. */
export function fullestOf({ used, allowed }: Project): number | null {
  const parts = AMOUNTS.flatMap(({ key }) => {
    const most = allowed[key]
    return most === null ? [] : [most === 0 ? (used[key] > 0 ? 2 : 0) : used[key] / most]
  })
  return parts.length === 0 ? null : Math.max(...parts)
}

/** Says that a quota is used up, or nearly used up. */
export function quotaWords(full: number): string {
  return full > 1 ? 'over quota' : full === 1 ? 'quota used up' : 'quota nearly used up'
}

/** Returns the number of boxes of all projects, by kind of status. */
export function boxCounts(projects: readonly Project[]): { running: number; stopped: number; other: number } {
  const sum = { running: 0, stopped: 0, other: 0 }
  for (const { boxes } of projects) {
    sum.running += boxes.running
    sum.stopped += boxes.stopped
    sum.other += boxes.other
  }
  return sum
}

/** Returns the projects that have all words of the text in their names, in order. */
export function selectProjects(projects: readonly Project[], text: string, sort: string): Project[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sortNaturally(projects, ({ project }) => project).filter(({ project }) =>
    words.every((word) => project.includes(word)),
  )
  const value = VALUES[sort.replace(/^-/, '')]
  if (value) found.sort((a, b) => value(a) - value(b))
  return sort.startsWith('-') ? found.reverse() : found
}

/** Returns an amount and its limit in words, such as `3 of 8`. */
export function amountText(used: number, allowed: number | null, unit: string): string {
  const words = allowed === null ? `${countText(used)}` : `${countText(used)} of ${countText(allowed)}`
  return unit === '' ? words : `${words} ${unit}`
}

function countText(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 2 })
}

const VALUES: Readonly<Record<string, (project: Project) => number>> = {
  boxes: ({ used }) => used.boxes,
  cpus: ({ used }) => used.cpus,
  ram_mb: ({ used }) => used.ram_mb,
  storage_gb: ({ used }) => used.storage_gb,
  full: (project) => fullestOf(project) ?? -1,
}

import type { HistoryCall } from './history.ts'
import { checkData } from './history-data.ts'
import { checkLives } from './history-lives.ts'

/**
 * Returns what in a history cannot be, in words, nothing if all may be: two owners of a name, two writers of a volume, what was
 * acknowledged and is lost or deleted and is there, figures and contents that never were, a repeat that made another. Pure.
 */
export function checkHistory(calls: readonly HistoryCall[]): string[] {
  return [...checkLives(calls), ...checkData(calls)]
}

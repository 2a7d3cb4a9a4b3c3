import type { HistoryCall } from './history.ts'
import { checkData } from './history-data.ts'
import { checkLives } from './history-lives.ts'

/**
 * Returns a description of each violation in a history, and an empty array for a valid one. Violations are:
 * - two owners of a name, or two writers of a volume
 * - an acknowledged change that is lost, or a deleted resource that still exists
 * - a count or a content that never existed
 * - a repeated request that created a second resource
 *
 * Pure.
 */
export function checkHistory(calls: readonly HistoryCall[]): string[] {
  return [...checkLives(calls), ...checkData(calls)]
}

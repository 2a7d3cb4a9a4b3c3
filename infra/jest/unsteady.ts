import type { Counts, JestOutcome } from './run.ts'

/** Returns true if running only the failed files once more shows whether they are unsteady. A broken change fails many. */
export function deservesAnotherRun({ failedFiles, isIncomplete }: JestOutcome): boolean {
  return failedFiles.length > 0 && failedFiles.length <= RERUN_MAX && !isIncomplete
}

/**
 * Adds up a run and a second one of its failed files. A file that failed and then passed is unsteady. It counts as failed, because the
 * fault may be the product's, unless `isForgiven`.
 */
export function judgeRuns(
  first: JestOutcome,
  second: JestOutcome,
  isForgiven: boolean,
): Counts & { unsteady: string[] } {
  const unsteady = first.failedFiles.filter((file) => !second.failedFiles.includes(file))
  return {
    passed: first.passed - first.passedInFailedFiles + second.passed,
    failed: second.failed + (isForgiven ? 0 : unsteady.length),
    unsteady,
  }
}

const RERUN_MAX = 6

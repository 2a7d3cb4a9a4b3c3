import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../commands.ts'

/** Seconds of CPU time by test file, for its process and for all processes that it started and waited for. */
export type FileTimes = ReadonlyMap<string, number>

/** Returns an empty file for the times of a suite, to which tests/environment.mjs adds a line for each test file (`TEST_TIMES`). */
export function prepareTimes(suite: string): string {
  const path = join(ROOT, '.build/test-times', suite)
  mkdirSync(join(path, '..'), { recursive: true })
  rmSync(path, { force: true })
  return path
}

/** Reads the times of a suite. A file that ran twice has the sum. */
export function readTimes(path: string): FileTimes {
  const times = new Map<string, number>()
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  for (const line of lines) {
    const [file = '', seconds = '0'] = line.split(' ')
    times.set(file, (times.get(file) ?? 0) + Number(seconds))
  }
  return times
}

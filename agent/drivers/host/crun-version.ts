import { run } from '../../lib/run.ts'

/** The oldest crun that runs boxes. Tests run with the versions of Debian 12 (1.8.1) and Debian 13 (1.21). */
export const CRUN_MIN_VERSION = '1.8'

/**
 * Runs crun to get its version, and returns it.
 * @throws Error with the found and the required version, if it is not crun, does not answer within 10 s, or is older than
 * `CRUN_MIN_VERSION`
 */
export async function checkCrunVersion(crunPath: string): Promise<string> {
  const { stdout, stderr } = await run(crunPath, ['--version'], { timeoutMs: ANSWER_MS })
  const version = /^crun version (\d+(?:\.\d+)+)/m.exec(stdout)?.[1]
  const needed = `crun ${CRUN_MIN_VERSION} or newer is required`
  if (version === undefined)
    throw new Error(`${crunPath} --version does not name crun (${needed}): ${(stdout + stderr).trim().slice(0, 200)}`)
  if (isOlderVersion(version, CRUN_MIN_VERSION)) throw new Error(`${crunPath} is crun ${version}, but ${needed}`)
  return version
}

/** Compares versions such as `1.8.1` by their numbers. A missing number counts as 0. */
export function isOlderVersion(version: string, minimum: string): boolean {
  const [one = [], other = []] = [version, minimum].map((text) => text.split('.').map(Number))
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const difference = (one[i] ?? 0) - (other[i] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

const ANSWER_MS = 10_000

import { readFileSync } from 'node:fs'
import TestSequencer from '@jest/test-sequencer'

/**
 * Starts the slowest files first, so that the workers finish together. Keeps files that share their worker's service together, because a
 * file with its own service closes it (tests/helpers/service.ts).
 */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests).map((test) => ({ test, turn: turnOf(test.path) }))
    return sorted.toSorted((one, other) => one.turn - other.turn).map(({ test }) => test)
  }
}

function turnOf(path) {
  const isLong = LONGEST.some((name) => path.endsWith(name))
  const isSharing = readFileSync(path, 'utf8').includes('useSharedService(')
  if (isSharing) return isLong ? 1 : 2
  return isLong ? 0 : 3
}

/** Files that take a minute or more. Jest has no durations in a fresh checkout. */
const LONGEST = [
  '/systemd/release.test.ts',
  '/fleet/history.test.ts',
  '/fleet/up.test.ts',
  '/cluster/hostile-roots.test.ts',
  '/cluster/weather-outage.test.ts',
  '/cluster/weather-node.test.ts',
  '/cluster/warm-pool.test.ts',
  '/cluster/three-nodes.test.ts',
  '/clients/examined.test.ts',
  '/clients/python-sdk.test.ts',
  '/e2e/debian.test.ts',
  '/e2e/exec/shim.test.ts',
  '/e2e/model.test.ts',
  '/e2e/offline.test.ts',
  '/e2e/standalone-data.test.ts',
  '/e2e/standalone.test.ts',
  '/e2e/volumes/faults.test.ts',
  // Saves the machine that the other files in its folder start from.
  '/vm/install.test.ts',
]

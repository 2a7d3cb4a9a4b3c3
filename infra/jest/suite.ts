import type { PeerName } from './peers.ts'
import type { JestRun } from './run.ts'

/** A set of test files that one command runs: `npm test -- NAME`. */
export interface Suite extends JestRun {
  name: string
  /** States the subject of its tests, for CONTRIBUTING.md. */
  what: string
  /** Minutes on two otherwise idle cores, with peers and clusters built. `chosen` adds them up (choice.ts). */
  minutes: number
  /** Path prefixes whose change chooses this suite in CI, in addition to its own test files and their imports. */
  touchedBy: readonly string[]
  /** Number of commits, modulo three, at which CI runs it in any case. Null if only a change runs it. */
  turn: 0 | 1 | 2 | null
  /** Runs on a real Kubernetes. */
  needsCluster?: boolean
  /** Needs Debian packages that `npm test` does not install (infra/setup.sh). */
  needsPackages?: boolean
  /** Programs that its tests run against, built or installed once. */
  peers?: readonly PeerName[]
  /** Ends the run if it takes longer. Default: SUITE_MINUTES of infra/test.ts. */
  limitMinutes?: number
}

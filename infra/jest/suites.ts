import type { PeerName } from './peers.ts'
import type { JestRun } from './run.ts'

/** A set of test files that one command runs: `npm test -- NAME`. */
export interface Suite extends JestRun {
  name: string
  /** What it proves, for people. */
  what: string
  /** Minutes on two cores that do nothing else, peers and clusters built; `chosen` adds them up (choice.ts). */
  minutes: number
  /** Beginnings of paths whose change chooses this suite in CI, besides its own test files and what these import. */
  touchedBy: readonly string[]
  /** Runs on a real Kubernetes. */
  needsCluster?: boolean
  /** Needs Debian packages that `npm test` does not install (infra/setup.sh). */
  needsPackages?: boolean
  /** Peers that are built or installed once; each adds the tests in its folder. */
  peers?: readonly PeerName[]
  /** Ends the run if it takes longer. Default: SUITE_MINUTES of infra/test.ts. */
  limitMinutes?: number
}

const E2E = 'tests/e2e'
const INTEGRATION = 'tests/integration'
const ON_PODS = { TEST_RUNTIME: 'kubernetes' }
// An emulated machine beside other work may take minutes for what takes seconds elsewhere.
const MACHINE = { workers: 1, env: { TEST_FILE_MINUTES: '60' }, limitMinutes: 240, needsPackages: true }

/** Suites of files in tests/contract, tests/integration and tests/e2e that `core` leaves out. */
const BEYOND_CORE: readonly Suite[] = [
  {
    name: 'console',
    what: 'the web console in Chromium',
    minutes: 6,
    paths: [`${E2E}/web/`, `${E2E}/edge/browser`, `${INTEGRATION}/front/console-files`],
    touchedBy: ['web/', 'infra/web/', 'sdk/typescript/', 'shared/auth/session', 'agent/handlers/access/sign-in'],
    workers: 3,
    needsPackages: true,
  },
  {
    name: 'faults',
    what: 'kill -9 of a real agent, broken and full disks, reboots',
    minutes: 5,
    paths: [
      `${E2E}/.*/(deploy-)?faults`,
      ...['pool/.*faults', 'pool/bad-blocks', 'pool/full-', 'pool/small-disk', 'volumes/full-disk'].map(inE2e),
      ...['boxes/lost-data', 'events/crash', 'exec/shim', 'exec/streams-restart', 'health/failures', 'model'].map(inE2e),
    ],
    touchedBy: ['agent/core/reconcile/', 'agent/drivers/store/', 'agent/drivers/pool/', 'agent/shim/', 'agent/lib/disk/'],
    workers: 4,
  },
]

function inE2e(name: string): string {
  return `${E2E}/${name}`
}

/** All suites, in the order in which CI takes those that a change touches. */
export const SUITES: readonly Suite[] = [
  {
    name: 'unit',
    what: 'rules of the code, functions and fakes',
    minutes: 1.5,
    paths: ['tests/architecture/', 'tests/unit/'],
    touchedBy: [],
    workers: 3,
  },
  {
    name: 'core',
    what: 'contracts of the drivers, and what a user does with boxes, on this host',
    minutes: 9,
    paths: ['tests/contract/', `${INTEGRATION}/`, `${E2E}/`],
    ignored: BEYOND_CORE.flatMap(({ paths }) => paths),
    touchedBy: [],
    // Files with boxes wait more than they compute.
    workers: 5,
  },
  ...BEYOND_CORE,
]

/** What `npm test` runs. */
const DEFAULT_NAMES = ['unit', 'core']

export interface Chosen {
  suites: readonly Suite[]
  /** Leaves nothing to a draw. */
  drawsAll: boolean
}

/** Returns the suites that the arguments of `npm test` name; see infra/test.ts. Arguments that name none are jest's patterns. */
export function suitesOf(args: readonly string[]): Chosen {
  if (args.length === 0) return { suites: suitesNamed(DEFAULT_NAMES), drawsAll: false }
  if (args.length === 1 && args[0] === 'all') return { suites: SUITES, drawsAll: true }
  const suites = suitesNamed(args)
  if (suites.length === args.length) return { suites, drawsAll: false }
  const [first, ...paths] = args
  const [cluster] = first === 'cluster' ? suitesNamed(['cluster']) : []
  if (cluster !== undefined) return { suites: [{ ...cluster, paths }], drawsAll: false }
  return { suites: [ofPaths(args)], drawsAll: false }
}

/** Returns the suites of these names, in the order of SUITES. */
export function suitesNamed(names: readonly string[]): Suite[] {
  return SUITES.filter(({ name }) => names.includes(name))
}

/** Returns the suites that `npm test` leaves out. */
export function suitesBeside(): Suite[] {
  return SUITES.filter(({ name }) => !DEFAULT_NAMES.includes(name))
}

function ofPaths(paths: readonly string[]): Suite {
  const machine = paths.some((path) => path.startsWith('tests/vm')) ? MACHINE : { workers: 1 }
  return { name: 'paths', what: 'files by their paths', minutes: 0, touchedBy: [], ...machine, paths }
}

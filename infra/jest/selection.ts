import type { Suite } from './suite.ts'
import { MACHINE, SUITES } from './suites.ts'

/** Names of the suites that `npm test` runs. */
const DEFAULT_NAMES = ['unit', 'core']

export interface Chosen {
  suites: readonly Suite[]
  /** Runs every part that is otherwise drawn. */
  drawsAll: boolean
}

/** Returns the suites that the arguments of `npm test` name (see infra/test.ts). Other arguments are jest's patterns. */
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
  return { name: 'paths', what: 'files by their paths', minutes: 0, turn: null, touchedBy: [], ...machine, paths }
}

/** Minutes of suites that CI runs beside check, audit and `npm test`, so that everything ends within 35. */
export const CHOSEN_MINUTES = 18

import type { Suite } from './suite.ts'

/** A change as CI sees it. */
export interface CodeChange {
  /** Changed files, from the root of the repository. */
  files: readonly string[]
  /** Names the commit that they are compared with, for the log. */
  since: string
  /** Number of commits up to this one. It drives the rotation, because CI starts from a fresh clone and remembers nothing. */
  commits: number
}

/** A suite to choose from, with its own test files and all files that these import. */
export interface Candidate {
  suite: Suite
  testFiles: ReadonlySet<string>
  imports: ReadonlySet<string>
}

export interface ReasonedSuite {
  suite: Suite
  why: string
}

export interface Choice {
  run: readonly ReasonedSuite[]
  /** Suites with a reason to run, but without time left. */
  leftOut: readonly ReasonedSuite[]
}

/**
 * Chooses suites that CI runs beside `npm test`, as long as their minutes fit. Suites whose subject changed come first. Suites whose tests
 * import a changed file come next. Suites whose turn it is, by the number of commits modulo three, come last. Each turn starts with another
 * of them, so that none is left out forever.
 */
export function chooseSuites(change: CodeChange, candidates: readonly Candidate[], minutes: number): Choice {
  const reasons = candidates.map((candidate) => reasonFor(candidate, change))
  const ranked = (rank: Rank): ReasonedSuite[] =>
    reasons.filter((reason) => reason?.rank === rank).filter((r) => r !== null)
  const round = Math.floor(change.commits / TURNS)
  const ordered = [...ranked('subject'), ...ranked('imports'), ...beginAt(ranked('turn'), round)]
  const run: ReasonedSuite[] = []
  const leftOut: ReasonedSuite[] = []
  let left = minutes
  for (const { suite, why } of ordered) {
    const buildsCluster = suite.needsCluster === true && !run.some((each) => each.suite.needsCluster === true)
    const cost = costOf(suite) + (buildsCluster ? CLUSTER_MINUTES : 0)
    const fits = cost <= left
    if (fits) left -= cost
    ;(fits ? run : leftOut).push({ suite, why })
  }
  return { run, leftOut }
}

function beginAt<T>(items: readonly T[], place: number): T[] {
  const first = items.length === 0 ? 0 : place % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

/** Returns the lines of a log that list the chosen suites and the reasons. */
export function describeChoice({ run, leftOut }: Choice, change: CodeChange, minutes: number): string[] {
  const line = ({ suite, why }: ReasonedSuite): string => `  ${suite.name} (${suite.minutes} min): ${why}`
  return [
    `${change.files.length} ${change.files.length === 1 ? 'file' : 'files'} changed since ${change.since}. Suites for the ${minutes} minutes beside npm test:`,
    ...(run.length === 0 ? ['  none'] : run.map(line)),
    ...(leftOut.length === 0 ? [] : ['No time is left for these; run them with "npm test -- NAME":']),
    ...leftOut.map(line),
  ]
}

type Rank = 'subject' | 'imports' | 'turn'

function reasonFor(candidate: Candidate, change: CodeChange): (ReasonedSuite & { rank: Rank }) | null {
  const { suite, testFiles, imports } = candidate
  const everything = change.files.find((file) => startsWithAny(file, TOUCH_EVERYTHING))
  const subject = change.files.find((file) => testFiles.has(file) || startsWithAny(file, suite.touchedBy))
  if (subject !== undefined) return { suite, why: `${subject} changed`, rank: 'subject' }
  const imported = change.files.find((file) => imports.has(file))
  if (imported !== undefined) return { suite, why: `its tests import ${imported}, which changed`, rank: 'imports' }
  if (everything !== undefined)
    return { suite, why: `every test depends on ${everything}, which changed`, rank: 'imports' }
  const turn = change.commits % TURNS
  if (suite.turn !== turn) return null
  return {
    suite,
    why: `its turn in the rotation (${change.commits} commits, remainder ${turn} of ${TURNS})`,
    rank: 'turn',
  }
}

/** Minutes by which a suite makes a run longer. A suite in its own lane runs beside others, and slows them down. */
function costOf({ lane, minutes }: Suite): number {
  return lane === undefined ? minutes : minutes / 2
}

function startsWithAny(file: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => file.startsWith(beginning))
}

const TURNS = 3
/** Minutes that building Kubernetes takes if it is missing, as in a fresh clone on a fresh machine. */
const CLUSTER_MINUTES = 5
/** Files that every test depends on and no test imports. */
const TOUCH_EVERYTHING = [
  'package-lock.json',
  'jest.config.mjs',
  'tests/environment.mjs',
  'infra/jest/',
  'infra/setup.sh',
]

import { basename } from 'node:path'
import type { JestKeeper, TestRun } from './jest-keeper.ts'
import type { Mutant } from './mutants.ts'

/** A logged run of a test file. A run without mutants is the reference. It shows whether the file passes, and which mutants it reaches. */
export interface LoggedRun extends TestRun {
  file: string
  mutants: number[]
}

export type Verdict =
  | { status: 'killed' | 'timeout'; by: string; ms: number }
  | { status: 'survived' | 'not reached' | 'unfinished' }

export interface CampaignParts {
  mutants: readonly Mutant[]
  /** Test files by suite. Mutants that survive a suite run in the next one. */
  suites: readonly (readonly string[])[]
  keeper: Pick<JestKeeper, 'run'>
  log(run: LoggedRun): void
}

/**
 * Runs each test file against the mutants that it reaches. A mutant first runs alone in the file that is most likely to kill it, which
 * kills half of the mutants. The next file would kill 2 %. Survivors run together in each further file. A group that fails is split down to
 * one mutant, so each kill is proven for a single mutant. A mutant that the others of its group keep from being reached runs again. The
 * campaign logs all runs, and a later start replays them.
 */
export class Campaign {
  readonly #parts: CampaignParts
  readonly #references = new Map<string, LoggedRun>()
  readonly #kills = new Map<number, { status: 'killed' | 'timeout'; by: string; ms: number }>()
  /** Files that each mutant has survived. */
  readonly #survived = new Map<number, Set<string>>()

  constructor(parts: CampaignParts) {
    this.#parts = parts
  }

  /** Applies a run from the log of an earlier start. */
  replay(run: LoggedRun): void {
    const { file, mutants, end, ms, reached } = run
    if (mutants.length === 0) {
      this.#references.set(file, run)
    } else if (end === 'passed') {
      for (const mutant of proven(mutants, reached)) this.#survivedOf(mutant).add(file)
    } else if (mutants[0] !== undefined && mutants.length === 1) {
      this.#kills.set(mutants[0], { status: end === 'timeout' ? 'timeout' : 'killed', by: file, ms })
    }
  }

  /** Runs everything that no logged run covers, until `isOver`. */
  async run(isOver: () => boolean): Promise<void> {
    for (const files of this.#parts.suites) {
      for (const file of files) if (!this.#references.has(file) && !isOver()) await this.#runReference(file)
      for (const mutant of this.#parts.mutants.keys()) await this.#runAlone(mutant, isOver)
      for (const file of this.#usableFiles()) await this.#runTogether(file, isOver)
    }
  }

  /** Returns the result of a mutant so far. */
  verdictOf(mutant: number): Verdict {
    const kill = this.#kills.get(mutant)
    if (kill !== undefined) return kill
    const files = this.#filesOf(mutant)
    const isUnknown = this.#parts.suites.flat().some((file) => !this.#references.has(file))
    if (isUnknown || files.some((file) => !this.#survivedOf(mutant).has(file))) return { status: 'unfinished' }
    return { status: files.length === 0 ? 'not reached' : 'survived' }
  }

  /** Files that fail without a mutant. Their runs do not count. */
  get brokenFiles(): string[] {
    return [...this.#references.values()].filter(({ end }) => end !== 'passed').map(({ file }) => file)
  }

  async #runReference(file: string): Promise<void> {
    const first = await this.#parts.keeper.run(file, { mutants: [], limitMs: REFERENCE_LIMIT_MS })
    const run =
      first.end === 'passed' ? first : await this.#parts.keeper.run(file, { mutants: [], limitMs: REFERENCE_LIMIT_MS })
    this.#record({ ...run, file, mutants: [] })
  }

  async #runAlone(mutant: number, isOver: () => boolean): Promise<void> {
    const file = this.#likelyFile(mutant)
    if (file !== undefined && this.#isOpen(mutant, file) && !isOver()) await this.#runMutants(file, [mutant])
  }

  async #runTogether(file: string, isOver: () => boolean): Promise<void> {
    for (;;) {
      const open = [...this.#parts.mutants.keys()].filter((mutant) => this.#isOpen(mutant, file))
      if (open.length === 0 || isOver()) return
      await this.#halve(file, open.slice(0, TOGETHER_MAX), isOver)
    }
  }

  /** Runs mutants together. If that fails, runs each half of them. */
  async #halve(file: string, mutants: readonly number[], isOver: () => boolean): Promise<void> {
    if (mutants.length === 0 || isOver()) return
    const end = await this.#runMutants(file, mutants)
    if (end === 'passed' || mutants.length === 1) return
    const middle = Math.ceil(mutants.length / 2)
    await this.#halve(file, mutants.slice(0, middle), isOver)
    await this.#halve(file, mutants.slice(middle), isOver)
  }

  async #runMutants(file: string, mutants: readonly number[]): Promise<TestRun['end']> {
    const limitMs = LIMIT_BASE_MS + LIMIT_FACTOR * (this.#references.get(file)?.ms ?? 0)
    const run = await this.#parts.keeper.run(file, { mutants, limitMs })
    this.#record({
      ...run,
      reached: run.reached.filter((mutant) => mutants.includes(mutant)),
      file,
      mutants: [...mutants],
    })
    return run.end
  }

  #record(run: LoggedRun): void {
    this.#parts.log(run)
    this.replay(run)
  }

  #isOpen(mutant: number, file: string): boolean {
    if (this.#kills.has(mutant) || this.#survivedOf(mutant).has(file)) return false
    return this.#references.get(file)?.reached.includes(mutant) ?? false
  }

  /**
   * The file that is most likely to kill a mutant: one with the name of the mutant's source, or a fast one that reaches few other mutants.
   */
  #likelyFile(mutant: number): string | undefined {
    const { file = '' } = this.#parts.mutants[mutant] ?? {}
    const name = basename(file, '.ts')
    const price = (test: string): number => {
      const { ms = 0, reached = [] } = this.#references.get(test) ?? {}
      return basename(test, '.test.ts') === name ? 0 : ms * reached.length
    }
    const quick = this.#filesOf(mutant).filter((test) => (this.#references.get(test)?.ms ?? 0) <= LIKELY_MAX_MS)
    return quick.sort((a, b) => price(a) - price(b))[0]
  }

  #filesOf(mutant: number): string[] {
    return this.#usableFiles().filter((file) => this.#references.get(file)?.reached.includes(mutant))
  }

  /** Files that pass without a mutant, the fastest first. */
  #usableFiles(): string[] {
    const passed = [...this.#references.values()].filter(({ end }) => end === 'passed')
    return passed.sort((a, b) => a.ms - b.ms).map(({ file }) => file)
  }

  #survivedOf(mutant: number): Set<string> {
    const files = this.#survived.get(mutant) ?? new Set()
    this.#survived.set(mutant, files)
    return files
  }
}

/** Returns the mutants that a passed run proves to survive, which are those it reached. */
function proven(mutants: readonly number[], reached: readonly number[]): readonly number[] {
  const asked = mutants.filter((mutant) => reached.includes(mutant))
  // Some tests draw their input. A group that none of them reaches any longer would run forever.
  return asked.length === 0 ? mutants : asked
}

const LIKELY_MAX_MS = 10_000
const TOGETHER_MAX = 24
const REFERENCE_LIMIT_MS = 600_000
// A mutant that hangs counts as killed.
const LIMIT_BASE_MS = 5_000
const LIMIT_FACTOR = 5

/** What a figure is called, and what it is about. */
export interface Metric<L extends string = never> {
  /** snake_case with its unit last (`_seconds`, `_bytes`), or `_total` for what only grows. */
  name: string
  /** One sentence. */
  help: string
  /** What its series differ by: a few values each, all known beforehand; never what somebody named. */
  labels: readonly L[]
}

/** The values that tell a series from others of its figure. */
export type Labels<L extends string> = Readonly<Record<L, string>>

/** One series as it is at the moment. */
export interface Sample<L extends string = never> {
  labels: Labels<L>
  value: number
}

/** Takes the figures of the agent for those who watch it. Each is named once; counting and timing them never throws. */
export interface Meter {
  /** How often something happens: a call counts one. */
  counter<L extends string>(figure: Metric<L>): (labels: Labels<L>) => void
  /** How long things take, in seconds, as how many took at most each of `bounds` (ascending). */
  histogram<L extends string>(
    figure: Metric<L> & { bounds: readonly number[] },
  ): (labels: Labels<L>, seconds: number) => void
  /** Asked for whenever somebody looks; of kind `counter` it only grows. One that fails is left out of that look. */
  observable<L extends string>(
    kind: 'gauge' | 'counter',
    figure: Metric<L>,
    read: () => readonly Sample<L>[] | Promise<readonly Sample<L>[]>,
  ): void
}

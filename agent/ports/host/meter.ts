/** Name and meaning of a metric. */
export interface Metric<L extends string = never> {
  /** snake_case with its unit last (`_seconds`, `_bytes`), or `_total` for a counter. */
  name: string
  /** One sentence. */
  help: string
  /** Label names. Each has a few values, all known beforehand. Never use names that users chose. */
  labels: readonly L[]
}

/** Label values that identify a series of a metric. */
export type Labels<L extends string> = Readonly<Record<L, string>>

/** Present value of one series. */
export interface Sample<L extends string = never> {
  labels: Labels<L>
  value: number
}

/** Registers the agent's metrics. Each name is registered once. Counting and timing never throw. */
export interface Meter {
  /** Registers a counter. A call adds one. */
  counter<L extends string>(figure: Metric<L>): (labels: Labels<L>) => void
  /** Registers a histogram of durations in seconds. `bounds` are the buckets' upper bounds, ascending. */
  histogram<L extends string>(
    figure: Metric<L> & { bounds: readonly number[] },
  ): (labels: Labels<L>, seconds: number) => void
  /** Registers a gauge or counter that is read at each scrape. One that fails is left out of that scrape. */
  observable<L extends string>(
    kind: 'gauge' | 'counter',
    figure: Metric<L>,
    read: () => readonly Sample<L>[] | Promise<readonly Sample<L>[]>,
  ): void
}

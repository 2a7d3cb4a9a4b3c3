/** Returns the value below which `share` of the series lies (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** Runs `work` `count` times, one after another. Returns the milliseconds of each. */
export async function timeEach(count: number, work: (index: number) => Promise<void>): Promise<number[]> {
  const values: number[] = []
  for (let i = 0; i < count; i++) values.push(await timeOnce(() => work(i)))
  return values
}

/** Returns the milliseconds that `work` takes. */
export async function timeOnce(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Runs `pass`, which transfers `bytes`, for `rounds`. Returns the MB/s of each. */
export async function rateEach(rounds: number, bytes: number, pass: () => Promise<void>): Promise<number[]> {
  return (await timeEach(rounds, pass)).map((ms) => bytes / 1000 / ms)
}

/** Formats rates in MB/s. */
export function ratesText(rates: readonly number[]): string {
  return `p50 ${percentile(rates, 0.5).toFixed(0)}, worst ${Math.min(...rates).toFixed(0)} MB/s (n=${rates.length})`
}

/** Formats `p50 / p95` of a series, in milliseconds. */
export function summary(values: readonly number[]): string {
  return `p50 ${percentile(values, 0.5).toFixed(1)} / p95 ${percentile(values, 0.95).toFixed(1)} ms (n=${values.length})`
}

/**
 * Prints one line of the report, with name, measured value, target, and whether it holds. If it does not hold, this process exits with 1.
 */
export function report(what: string, measured: string, target: string, holds: boolean): void {
  const mark = judge(holds, 'FALLS SHORT')
  process.stdout.write(`${what.padEnd(44)} ${measured.padEnd(44)} target ${target.padEnd(16)} ${mark}\n`)
}

/** Returns the last word of a report line, which is `holds` or `failure`. On failure this process exits with 1. */
export function judge(holds: boolean, failure: string): string {
  if (!holds) process.exitCode = 1
  return holds ? 'holds' : failure
}

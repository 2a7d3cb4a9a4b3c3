export interface RepeatOptions {
  everyMs: number
  /** Called with the error of `work`, unless it is the same as before. It needs no handling. */
  onError(error: unknown): void
  /** Whether the timer keeps the process alive. Default: no. */
  keepsAlive?: boolean
}

/**
 * Runs `work` every `everyMs` until the returned function is called. Reports an error, also of a promise, and continues. Thrown in a bare
 * timer it would end the process.
 */
export function repeat(work: () => unknown, { everyMs, onError, keepsAlive = false }: RepeatOptions): () => void {
  let last = ''
  const fail = (error: unknown): void => {
    const text = String(error)
    if (text === last) return
    last = text
    onError(error)
  }
  const run = async (): Promise<void> => {
    await work()
    last = ''
  }
  const timer = setInterval(() => void run().catch(fail), everyMs)
  if (!keepsAlive) timer.unref()
  return () => clearInterval(timer)
}

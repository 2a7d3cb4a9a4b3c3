export interface RepeatOptions {
  everyMs: number
  /** Called with what `work` threw, unless it threw the same before; nothing is to be done about it. */
  onError(error: unknown): void
  /** Whether the timer keeps the process alive; default: no. */
  keepsAlive?: boolean
}

/**
 * Runs `work` every `everyMs` until the returned function is called. An error, also of a promise, is reported and ends nothing: thrown
 * in a bare timer it would end the process.
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

/**
 * Runs `work` with a signal that aborts when a terminal or service manager ends this process (SIGINT, SIGTERM, SIGHUP), so that it can
 * remove what it has written. The error uses `what` to name what is incomplete: "the archive".
 */
export async function withInterrupts<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController()
  const onSignal = (name: NodeJS.Signals): void =>
    ending.abort(new Error(`${name} interrupted ${what} before it was complete.`))
  for (const name of SIGNALS) process.once(name, onSignal)
  try {
    return await work(ending.signal)
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

import { constants } from 'node:os'

/** Does `work`; if it is interrupted meanwhile (Ctrl-C), `leave` is called, and the program ends as the signal says. */
export async function whileInterruptible<T>(leave: () => void, work: () => Promise<T>): Promise<T> {
  const interrupt = (signal: NodeJS.Signals): void => {
    leave()
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.once(signal, interrupt)
  try {
    return await work()
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

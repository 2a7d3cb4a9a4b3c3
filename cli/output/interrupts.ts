import { constants } from 'node:os'

/** A signal ended the command. The program exits with its code, and prints nothing more. */
export class InterruptError extends Error {
  override readonly name = 'InterruptError'
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** Does `work`. After an interrupt (Ctrl-C), calls `leave` and no longer waits for the work. @throws InterruptError */
export async function whileInterruptible<T>(leave: () => void, work: () => Promise<T>): Promise<T> {
  let interrupt: (signal: NodeJS.Signals) => void = leave
  const interrupted = new Promise<never>((_resolve, reject) => {
    interrupt = (signal) => {
      leave()
      reject(new InterruptError(signal))
    }
  })
  for (const signal of SIGNALS) process.once(signal, interrupt)
  try {
    return await Promise.race([work(), interrupted])
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

import { setTimeout as sleep } from 'node:timers/promises'
import type { LogLine } from './log-lines.ts'
import { type LoggingChild, startLoggingChild } from './logging-child.ts'

export interface ServiceProcessOptions {
  /** Name in messages, such as `agent`. */
  name: string
  command: readonly string[]
  /** The whole environment. Defaults to the environment of this process. */
  env?: NodeJS.ProcessEnv
  /** Consequence of an unexpected end for the user, printed with it. */
  lossNote: string
  /** Milliseconds that a graceful stop can take before SIGKILL. */
  stopDeadlineMs: number
  /** Prints a line for the user. */
  say(text: string): void
  /** Receives every line that the process prints. */
  log(line: string): void
}

/** A supervised process. It restarts, with growing pauses, after an unexpected end. */
export interface ServiceProcess {
  /** Resolves with the line that reports readiness. Rejects with the process's own reason if it ends first. */
  start(): Promise<LogLine>
  /** Sends SIGTERM, and SIGKILL after the deadline. Resolves when the process is gone, or if it never ran. */
  stop(): Promise<void>
  /** Sends SIGKILL at once. */
  kill(): void
}

export function createServiceProcess(options: ServiceProcessOptions): ServiceProcess {
  const { name, say } = options
  const stopping = new AbortController()
  let current: LoggingChild | null = null
  let pauseMs = FIRST_PAUSE_MS

  const launch = async (): Promise<LogLine> => {
    stopping.signal.throwIfAborted()
    const child = startLoggingChild({
      command: options.command,
      ...(options.env === undefined ? {} : { env: options.env }),
      onLine: (line, { isProgress, message }) => {
        options.log(line)
        if (isProgress) say(message)
      },
    })
    current = child
    const line = await child.ready
    const readyAt = performance.now()
    void child.exited.then((how) => {
      if (performance.now() - readyAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS
      return stopping.signal.aborted ? undefined : keepRunning(how)
    })
    return line
  }
  const keepRunning = async (how: string): Promise<void> => {
    say(`The ${name} stopped unexpectedly (${how}). ${options.lossNote} Restarting it.`)
    while (!stopping.signal.aborted) {
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
      try {
        await launch()
        say(`The ${name} is running again.`)
        return
      } catch (error) {
        if (!stopping.signal.aborted) say(`The ${name} did not start: ${messageOf(error)}`)
      }
    }
  }
  return {
    start: launch,
    stop: async () => {
      stopping.abort()
      if (current !== null) await stopChild(current, options.stopDeadlineMs)
    },
    kill: () => {
      stopping.abort()
      current?.process.kill('SIGKILL')
    },
  }
}

/** Sends SIGTERM, and SIGKILL after `deadlineMs`. Resolves with how the process ended. */
export async function stopChild(child: LoggingChild, deadlineMs: number): Promise<string> {
  child.process.kill('SIGTERM')
  const forced = setTimeout(() => child.process.kill('SIGKILL'), deadlineMs)
  const how = await child.exited
  clearTimeout(forced)
  return how
}

/** Work that runs in the foreground until a signal. */
export interface Foreground {
  /** Stops it gracefully. Resolves when it has ended. */
  stop(): Promise<void>
  /** Kills it at once. */
  kill(): void
  /** Prints a line for the user. */
  say(text: string): void
}

/** The end of this process. */
export interface Ending {
  hasBegun(): boolean
  /** Stops the work and ends this process. */
  begin(): Promise<void>
}

/** Stops the work gracefully on the first signal, and kills it on a later one. `release` releases what this process holds. */
export function endOnSignal({ stop, kill, say }: Foreground, release: () => void): Ending {
  let begunAt: number | null = null
  const begin = async (): Promise<void> => {
    begunAt ??= performance.now()
    await stop()
    release()
    process.exit()
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (begunAt === null) {
        say('Stopping. Boxes keep running.')
        void begin()
      } else if (performance.now() - begunAt > SAME_SIGNAL_MS) {
        kill()
        process.exit(1)
      }
    })
  }
  return { hasBegun: () => begunAt !== null, begin }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 30_000
/** A process that ran this long has recovered. After its next end the pauses restart from the first one. */
const STEADY_MS = 60_000
// On Ctrl-C the terminal signals npm and this process, and npm forwards its own. That counts as one signal.
const SAME_SIGNAL_MS = 500

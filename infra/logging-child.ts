import { type ChildProcess, spawn } from 'node:child_process'
import { createLineSplitter, type LogLine, parseLogLine } from './log-lines.ts'

export interface LoggingChildOptions {
  command: readonly string[]
  /** The whole environment. Defaults to the environment of this process. */
  env?: NodeJS.ProcessEnv
  /** Receives every line of output, raw and parsed. */
  onLine(line: string, parsed: LogLine): void
}

/** A process whose log reports that it is ready, or why it failed. */
export interface LoggingChild {
  process: ChildProcess
  /** Resolves with the line that reports readiness. Rejects, with the logged reason, if the process ends first. */
  ready: Promise<LogLine>
  /** Resolves with how the process ended, such as `exit code 1` or `SIGKILL`. */
  exited: Promise<string>
}

/** Starts a process in its own session, so that Ctrl-C does not reach it and the caller controls the order of shutdown. */
export function startLoggingChild(options: LoggingChildOptions): LoggingChild {
  const [program = '', ...args] = options.command
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: options.env })
  const exited = waitForEnd(child)
  const ready = new Promise<LogLine>((resolve, reject) => {
    const last: string[] = []
    let reason: string | null = null
    readLines(child, (line) => {
      const parsed = parseLogLine(line)
      options.onLine(line, parsed)
      if (parsed.isError) reason = parsed.message
      if (parsed.isReady) resolve(parsed)
      last.push(parsed.message)
      if (last.length > LAST_LINES) last.shift()
    })
    void exited.then((how) => reject(new Error(reason ?? [...last, `It exited with ${how}.`].join('\n'))))
  })
  // Prevents an unhandled rejection in callers that do not await `ready`.
  ready.catch(() => undefined)
  return { process: child, ready, exited }
}

function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => {
      const settle = (): void => resolve(signal ?? `exit code ${code}`)
      // Waits for the last lines, which hold the reason, but not forever. Another process may keep the pipes open.
      child.once('close', settle)
      setTimeout(settle, LAST_LINES_MS).unref()
    })
  })
}

function readLines(child: ChildProcess, take: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    const splitter = createLineSplitter()
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => splitter.push(text).forEach(take))
    stream?.on('end', () => (splitter.rest() === '' ? undefined : take(splitter.rest())))
    stream?.on('error', () => undefined)
  }
}

const LAST_LINES = 25
const LAST_LINES_MS = 500

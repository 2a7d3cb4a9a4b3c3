import { type ChildProcess, spawn } from 'node:child_process'
import { createLineSplitter, type LogLine, parseLogLine } from './log-lines.ts'

export interface LoggingChildOptions {
  command: readonly string[]
  /** The whole environment; absent: that of this process. */
  env?: NodeJS.ProcessEnv
  /** Takes every line it prints, as it is and as understood. */
  onLine(line: string, parsed: LogLine): void
}

/** A process that tells by its log when it is ready, and why it is not. */
export interface LoggingChild {
  process: ChildProcess
  /** The line by which it said that it is ready; rejects, with the reason it gave, if it ends before. */
  ready: Promise<LogLine>
  /** Settles with how it ended: `exit code 1`, `SIGKILL`. */
  exited: Promise<string>
}

/** Starts a process in a session of its own, so that Ctrl-C does not reach it and the order of the end is the caller's. */
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
    void exited.then((how) => reject(new Error(reason ?? [...last, `It ended with ${how}.`].join('\n'))))
  })
  // Whoever does not wait for it to be ready need not hear that it never was.
  ready.catch(() => undefined)
  return { process: child, ready, exited }
}

function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => {
      const settle = (): void => resolve(signal ?? `exit code ${code}`)
      // The last lines tell why; but another process may hold the pipes for ever.
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

import { fstatSync } from 'node:fs'
import { createJsonLogger, type Logger } from './log.ts'

/**
 * Returns a function that writes log lines to stderr. In the journal of systemd, whose stream JOURNAL_STREAM names, each line gets its
 * priority as a prefix (sd-daemon(3)), so that `journalctl -p warning` finds it.
 */
export function createStderrWriter(): (line: string) => void {
  const isJournal = leadsToJournal(process.env['JOURNAL_STREAM'])
  return (line) => void process.stderr.write(`${isJournal ? priorityOf(line) : ''}${line}\n`)
}

/** Creates a logger for short-lived commands. Users read progress, errors and their remedies, as text. */
export function createPlainLogger(write: (line: string) => void, now: () => number): Logger {
  return createJsonLogger({
    level: 'info',
    now,
    write: (line) => {
      const { level, message, remedy, progress } = JSON.parse(line) as Record<string, unknown>
      if (level !== 'error' && progress !== true) return
      write([message, remedy].filter((text) => typeof text === 'string').join(' '))
    },
  })
}

/** Returns the prefix for a line of `createJsonLogger`, or the prefix of a warning for any other. Pure. */
export function priorityOf(line: string): string {
  const level = /^\{"time":"[^"]*","level":"(\w+)"/.exec(line)?.[1] ?? 'warn'
  return `<${PRIORITIES[level] ?? WARNING}>`
}

// systemd names device and inode of the stream, because stderr may lead elsewhere by now.
function leadsToJournal(stream: string | undefined): boolean {
  if (stream === undefined) return false
  try {
    const { dev, ino } = fstatSync(2, { bigint: true })
    return stream === `${dev}:${ino}`
  } catch {
    return false
  }
}

const WARNING = 4
const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: WARNING, info: 6, debug: 7 }

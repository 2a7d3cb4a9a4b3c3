import { fstatSync } from 'node:fs'

/**
 * Returns a function that writes log lines to stderr. In the journal of systemd each gets its priority, as a prefix (sd-daemon(3)),
 * so that `journalctl -p warning` finds it.
 */
export function createStderrWriter(env: Readonly<Record<string, string | undefined>>): (line: string) => void {
  const isJournal = leadsToJournal(env['JOURNAL_STREAM'])
  return (line) => void process.stderr.write(`${isJournal ? priorityOf(line) : ''}${line}\n`)
}

/** Returns the prefix for a line of `createJsonLogger`; that of a warning for any other. Pure. */
export function priorityOf(line: string): string {
  const level = /^\{"time":"[^"]*","level":"(\w+)"/.exec(line)?.[1] ?? 'warn'
  return `<${PRIORITIES[level] ?? WARNING}>`
}

// systemd names device and inode of the stream; stderr may lead elsewhere by now.
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

import { styleText } from 'node:util'
import { visibleText } from './visible-text.ts'

/**
 * The only place that writes text to stdout and stderr. Names, boxes and servers influence nearly all of it, and none of them may control
 * the user's terminal. Bytes of commands, logs and files are not text, and bypass this.
 */
export function printLine(text: string): void {
  process.stdout.write(`${visibleText(text)}\n`)
}

/** Writes a line to stderr. */
export function reportLine(text: string): void {
  process.stderr.write(`${visibleText(text)}\n`)
}

/** Writes a line to stderr while its terminal is in raw mode. */
export function reportRawLine(text: string): void {
  process.stderr.write(`${visibleText(text)}\r\n`)
}

/** Returns whether the user sees stderr. */
export function isSeen(): boolean {
  return process.stderr.isTTY
}

/** Replaces the line of a terminal at stderr. */
export function redrawLine(text: string): void {
  if (isSeen()) process.stderr.write(`\r${visibleText(text).replaceAll('\n', ' ')}\x1b[K`)
}

/** Clears the terminal at stdout. */
export function clearScreen(): void {
  process.stdout.write('\x1b[H\x1b[J')
}

/** Prints a table, with its first line in bold if stdout is a terminal with colours. */
export function printTable(text: string): void {
  const [head = '', ...rows] = visibleText(text).split('\n')
  const isStyled = process.stdout.isTTY && process.stdout.hasColors()
  process.stdout.write(`${[isStyled ? styleText('bold', head) : head, ...rows].join('\n')}\n`)
}

import { styleText } from 'node:util'
import { cellText, recordText } from './records.ts'

export type OutputFormat = 'table' | 'json' | 'yaml' | 'name'

/**
 * Prints what the API answered, on stdout: a list as a table, of `columns` where they are given, a resource as its fields, or as
 * `-o` says.
 */
export async function printAnswer(answer: unknown, format: OutputFormat, columns?: readonly string[]): Promise<void> {
  if (answer === undefined) return
  if (format === 'json') return write(JSON.stringify(answer, null, 2))
  if (format === 'yaml') return write((await import('yaml')).stringify(answer).trimEnd())
  const items = itemsOf(answer)
  if (format === 'name') return write((items ?? [answer]).map(nameOf).join('\n'))
  write(items === null ? fieldsOf(answer) : tableOf(items, columns))
}

/** Prints rows of one shape as a table with all their columns. */
export function printRows(rows: readonly Record<string, string>[]): void {
  const [first] = rows
  if (first !== undefined) write(alignedText(Object.keys(first), rows))
}

/** Returns the elements of an answer that is a list; null for another. */
export function itemsOf(answer: unknown): unknown[] | null {
  if (Array.isArray(answer)) return answer as unknown[]
  if (!isRecord(answer)) return null
  const lists = Object.values(answer).filter((value) => Array.isArray(value))
  const isList = lists.length === 1 && Object.keys(answer).every((key) => Array.isArray(answer[key]) || PAGING.has(key))
  return isList ? (lists[0] ?? null) : null
}

function tableOf(items: readonly unknown[], chosen: readonly string[] | undefined): string {
  const records = items.filter(isRecord)
  if (records.length === 0) return items.map(String).join('\n')
  if (chosen !== undefined) return alignedText(chosen, records)
  const present = COLUMNS.filter((column) => records.some((record) => isShown(record[column])))
  const columns =
    present.length > 0 ? present.slice(0, COLUMNS_MAX) : Object.keys(records[0] ?? {}).slice(0, COLUMNS_MAX)
  return alignedText(columns, records)
}

function alignedText(columns: readonly string[], records: readonly Record<string, unknown>[]): string {
  const rows = records.map((record) => columns.map((column) => cellOf(column, record[column])))
  // The cells of bytes have a unit.
  const head = columns.map((column) =>
    column
      .replace(/_bytes$/, '')
      .toUpperCase()
      .replaceAll('_', ' '),
  )
  const widths = columns.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)))
  const line = (row: string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return [hasColours() ? styleText('bold', line(head)) : line(head), ...rows.map(line)].join('\n')
}

function cellOf(column: string, value: unknown): string {
  const text = cellText(column, value).replaceAll(/\s/g, ' ')
  return column === 'command' && text.length > COMMAND_MAX ? `${text.slice(0, COMMAND_MAX - 1)}…` : text
}

function hasColours(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors()
}

function fieldsOf(answer: unknown): string {
  return isRecord(answer) ? recordText(answer, alignedText) : cellText('', answer)
}

function nameOf(item: unknown): string {
  if (!isRecord(item)) return cellText('', item)
  return cellText('', item['name'] ?? item['id'] ?? item['path'] ?? '')
}

function isShown(value: unknown): boolean {
  return value !== undefined && (typeof value !== 'object' || value === null)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function write(text: string): void {
  if (text !== '') process.stdout.write(`${text}\n`)
}

const PAGING = new Set(['has_more', 'next_continuation_token', 'next_cursor'])
const COLUMNS_MAX = 7
/** Characters of a command in a table. */
const COMMAND_MAX = 60
/** Columns of tables, the first that the items have. */
const COLUMNS = [
  ...[
    'kind',
    'name',
    'path',
    'ts',
    'type',
    'id',
    'project',
    'box',
    'status',
    'state',
    'base',
    'resource',
    'operation',
    'size_gb',
  ],
  ...[
    'size_bytes',
    'used_bytes',
    'exit_code',
    'port',
    'viewers',
    'expires_at',
    'created_at',
    'started_at',
    'title',
    'code',
  ],
]

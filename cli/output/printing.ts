import { cellText, recordText } from './records.ts'
import { printLine, printTable } from './terminal.ts'
import { commandsTerminal, escapeYaml, visibleJson, visibleLine } from './visible-text.ts'

export type OutputFormat = 'table' | 'json' | 'yaml' | 'name'

/**
 * Prints the API's answer on stdout. Prints a list as a table with `columns` if given, and a resource as its fields. `-o` selects another
 * format.
 */
export async function printAnswer(answer: unknown, format: OutputFormat, columns?: readonly string[]): Promise<void> {
  if (answer === undefined) return
  if (format === 'json') return printLine(visibleJson(answer, 2))
  if (format === 'yaml') return printLine(await yamlOf(answer))
  const items = itemsOf(answer)
  if (format === 'name') return print((items ?? [answer]).map(nameOf).join('\n'))
  if (items === null) return print(fieldsOf(answer))
  if (items.some(isRecord)) printTable(tableOf(items.filter(isRecord), columns))
  else print(items.map(String).join('\n'))
}

/** Prints rows of one shape as a table with all their columns. */
export function printRows(rows: readonly Record<string, string>[]): void {
  const [first] = rows
  if (first !== undefined) printTable(alignedText(Object.keys(first), rows))
}

/** Returns the elements of an answer that is a list, or null for another answer. */
export function itemsOf(answer: unknown): unknown[] | null {
  if (Array.isArray(answer)) return answer as unknown[]
  if (!isRecord(answer)) return null
  const lists = Object.values(answer).filter((value) => Array.isArray(value))
  const isList = lists.length === 1 && Object.keys(answer).every((key) => Array.isArray(answer[key]) || PAGING.has(key))
  return isList ? (lists[0] ?? null) : null
}

function tableOf(records: readonly Record<string, unknown>[], chosen: readonly string[] | undefined): string {
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
  return [line(head), ...rows.map(line)].join('\n')
}

function cellOf(column: string, value: unknown): string {
  const text = cellText(column, value).replaceAll(/\s/g, ' ')
  return column === 'command' && text.length > COMMAND_MAX ? `${text.slice(0, COMMAND_MAX - 1)}…` : text
}

function fieldsOf(answer: unknown): string {
  return isRecord(answer) ? recordText(answer, alignedText) : cellText('', answer)
}

function nameOf(item: unknown): string {
  return visibleLine(cellText('', isRecord(item) ? (item['name'] ?? item['id'] ?? item['path'] ?? '') : item))
}

function isShown(value: unknown): boolean {
  return value !== undefined && (typeof value !== 'object' || value === null)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function print(text: string): void {
  if (text !== '') printLine(text)
}

/** Formats an answer as YAML. Quotes and escapes texts that could command a terminal. */
async function yamlOf(answer: unknown): Promise<string> {
  const { Document, visit } = await import('yaml')
  const document = new Document(answer)
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && commandsTerminal(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return escapeYaml(document.toString().trimEnd())
}

const PAGING = new Set(['has_more', 'next_continuation_token', 'next_cursor'])
const COLUMNS_MAX = 7
/** Characters of a command in a table. */
const COMMAND_MAX = 60
/** Columns of tables. A table shows the first ones that its items have. */
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

import { formatBytes } from './meter.ts'
import { visibleText } from './visible-text.ts'

/** Rows of a table, by column. */
type Row = Readonly<Record<string, unknown>>
/** Creates a table of rows with all these columns. */
type TableOf = (columns: readonly string[], rows: readonly Row[]) => string

/**
 * Formats an answer for people. Prints a line for each field, nested fields below their name, lists of records as tables, and bytes with a
 * unit. A pure function, except for what `tableOf` does.
 */
export function recordText(record: Row, tableOf: TableOf): string {
  return linesOf(record, tableOf).join('\n')
}

function linesOf(record: Row, tableOf: TableOf): string[] {
  const entries = Object.entries(record)
  const width = Math.max(0, ...entries.filter(([, value]) => !isNested(value)).map(([key]) => key.length))
  return entries.flatMap(([key, value]) => {
    if (!isNested(value)) {
      const [first = '', ...more] = cellText(key, value).trimEnd().split('\n')
      // Ensures that no line of a value looks like another field.
      return [`${key.padEnd(width)}  ${first}`.trimEnd(), ...more.map((line) => `${' '.repeat(width + 2)}${line}`)]
    }
    const below = Array.isArray(value) ? tableLines(value.filter(isRow), tableOf) : linesOf(value, tableOf)
    return [key, ...below.map((line) => `  ${line}`)]
  })
}

function tableLines(given: readonly Row[], tableOf: TableOf): string[] {
  const rows = given.flatMap(withSnapshots)
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row).filter((key) => !isNested(row[key]))))]
  return tableOf(columns, rows).split('\n')
}

/** Its snapshots follow their owner, as `web@good`. */
function withSnapshots({ snapshots, ...row }: Row): Row[] {
  const children = Array.isArray(snapshots) ? snapshots.filter(isRow) : []
  if (children.length === 0) return [row]
  return [
    row,
    ...children.map((child) => ({ ...row, ...child, name: `${String(row['name'])}@${String(child['name'])}` })),
  ]
}

/** Returns the text of a field that has no nested fields, or `-` if it is missing. A pure function. */
export function cellText(key: string, value: unknown): string {
  if (value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0))
    return '-'
  if (Array.isArray(value)) return value.map((each) => cellText('', each)).join(key === 'command' ? ' ' : ', ')
  if (typeof value === 'number') return key.endsWith('bytes') ? formatBytes(value) : numberText(value)
  return visibleText(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Formats a number with three significant digits, and all digits before the point. A pure function. */
export function numberText(value: number): string {
  if (Number.isInteger(value)) return String(value)
  return String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
}

/** Returns whether a value has nested fields to print line by line. */
function isNested(value: unknown): value is Row | unknown[] {
  if (Array.isArray(value)) return value.some(isRow)
  return isRow(value) && Object.keys(value).length > 0
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A command on a documentation page, with the output that the page shows. */
export interface DocumentedCommand {
  page: string
  line: number
  command: string
  /** Output lines, where `…` marks omitted output. Empty if the page shows none. */
  shown: string[]
}

/** Returns the commands in the ```console blocks of a page. They start with `# ` or `$ ` and include here-documents. */
export function commandsIn(page: string, text: string): DocumentedCommand[] {
  const found: DocumentedCommand[] = []
  let isInside = false
  let terminator: string | null = null
  for (const [index, line] of text.split('\n').entries()) {
    const current = found.at(-1)
    if (line.startsWith('```')) isInside = line === '```console'
    else if (!isInside) continue
    else if (current && terminator !== null) {
      current.command += `\n${line}`
      if (line === terminator) terminator = null
    } else if (/^[#$] /.test(line)) {
      found.push({ page, line: index + 1, command: line.slice(2), shown: [] })
      terminator = /<<'?(\w+)'?/.exec(line)?.[1] ?? null
    } else current?.shown.push(line)
  }
  return found
}

/** Returns the files that a reader of a page saves, by path. The first line of their blocks is a comment with only the path. */
export function filesIn(text: string): Map<string, string> {
  const blocks = text.matchAll(/^```\w+\n((?:#|\/\/) (\S*[./]\S+|Makefile)\n[^]*?)^```$/gm)
  return new Map([...blocks].map(([, content = '', path = '']) => [path, content]))
}

/**
 * Returns the parts of the shown output that the real output lacks:
 * - For JSON, the fields whose values do not vary between runs.
 * - For headers, the names.
 * - For other text, whole lines, or the text before `…`.
 * A complete id or time on the page matches any.
 */
export function missingFrom(output: string, shown: readonly string[]): string[] {
  const lines = output.split(/\r?\n/)
  return shown.flatMap((line) => {
    if (/^[ [{]/.test(line)) return fieldsIn(line).filter((field) => !output.includes(field))
    const header = /^[a-z-]+: /.exec(line)?.[0]
    const pattern = header === undefined ? patternOf(line) : new RegExp(`^${header}`)
    return lines.some((each) => pattern.test(each)) || line === '' ? [] : [line]
  })
}

/**
 * Returns the table rows that a page shows and an output lacks. Ignores column widths. An age, an id and a time match any other, and `…`
 * matches any cells.
 */
export function rowsMissingFrom(output: string, shown: readonly string[]): string[] {
  const rows = output.split('\n').map((row) => row.trim().replaceAll(/\s+/g, ' '))
  return shown.filter((row) => {
    const cells = row.trim().split(/\s+/).map(cellPattern)
    return !rows.some((each) => new RegExp(`^${cells.join(' ')}$`).test(each))
  })
}

function cellPattern(cell: string): string {
  if (cell === '…') return '.*'
  if (/^(\d+[smhd])+$/.test(cell)) return String.raw`(\d+[smhd])+`
  if (/^[a-z]{3}_0\w{25}$/.test(cell)) return `${cell.slice(0, 4)}\\w{26}`
  if (/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(cell)) return String.raw`\S+Z`
  return cell.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

function patternOf(line: string): RegExp {
  const [start = '', ...cut] = line.split('…')
  const text = cut.length === 0 ? start : start.replace(/\w+_0\w{0,24}$/, '')
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const anyId = escaped.replaceAll(/\b([a-z]{3}_)0\w{25}\b/g, String.raw`$1\w{26}`)
  const anyTime = anyId.replaceAll(/\d{4}-\d{2}-\d{2}T[\d:]+\\\.\d{3}Z/g, String.raw`\S+Z`)
  return new RegExp(`^${anyTime}${cut.length === 0 ? '$' : ''}`)
}

function fieldsIn(json: string): string[] {
  const fields = json.matchAll(/"(\w+)":(?:"(?:[^"\\]|\\.)*"|-?\d[\d.]*|true|false|null|\[\])/g)
  return [...fields].filter(([field, name = '']) => !VARYING.has(name) && !field.includes('…')).map(([field]) => field)
}

/** Fields whose values vary between runs. */
const VARYING = new Set(['id', 'used_bytes', 'pid', 'port', 'next_offset', 'data', 'etag', 'request_id'])

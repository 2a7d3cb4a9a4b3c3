import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ERROR_STATUSES } from '../../shared/errors.ts'
import { ROOT } from '../commands.ts'
import { documentWithoutFailures, errorClassName, retryMarks } from './document.ts'
import { openAnswerEnums } from './open-enums.ts'

/** Generates the tables of the Python SDK, by their names in the checkout. */
export function generatePythonTables(): Record<string, string> {
  return { [`${PYTHON_BASE}/marks.py`]: marksText(), [`${PYTHON_BASE}/error_classes.py`]: errorsText() }
}

/**
 * Generates the base of the Python SDK from the OpenAPI document with openapi-python-client, from the directory `generators`. Returns its
 * files by their names in the checkout. @throws Error if the generator complains
 */
export function generatePythonBase(generators: string): Record<string, string> {
  const bench = mkdtempSync(join(tmpdir(), 'boxyard-python-base-'))
  const bin = join(generators, 'python/bin')
  try {
    writeFileSync(join(bench, 'openapi.json'), JSON.stringify(documentForPython()))
    const templates = join(ROOT, 'infra/sdk/python-templates')
    const args = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', 'base', '--fail-on-warning']
    execFileSync(
      join(bin, 'python'),
      ['-m', 'openapi_python_client', ...args, '--custom-template-path', templates],
      // It formats with the ruff beside it.
      { cwd: bench, env: { ...process.env, PATH: [bin, process.env['PATH']].join(delimiter) }, stdio: 'pipe' },
    )
    const names = globSync('**/*.py', { cwd: join(bench, 'base') }).filter((name) => !UNUSED.includes(name))
    const files = names.sort().map((name) => [name, readFileSync(join(bench, 'base', name), 'utf8')] as const)
    const enums = files.flatMap(([, text]) => /^class (\w+)\(StrEnum\):$/m.exec(text)?.[1] ?? [])
    return Object.fromEntries(files.map(([name, text]) => [`${PYTHON_BASE}/${name}`, takeTexts(text, enums)]))
  } finally {
    rmSync(bench, { recursive: true, force: true })
  }
}

/**
 * Changes the input types, which are the fields of models and the parameters of operations, so that they accept plain text instead of a
 * member of an enumeration. Output types stay. Pure.
 */
function takeTexts(text: string, enums: readonly string[]): string {
  const known = new Set(enums)
  return text.replace(/^( {4}\w+: )(list\[)?(\w+)(\])?( \| Unset)?( = [\w.]+)?(,)?$/gm, (line, ...parts: string[]) => {
    const [head = '', list = '', name = '', end = '', ...rest] = parts.slice(0, 7)
    if (!known.has(name)) return line
    const texts = list === '' ? 'str' : 'list[str]'
    return `${head}${list}${name}${end} | ${texts}${rest.map((part) => part ?? '').join('')}`
  })
}

/** Returns the files of the base that are in the checkout, without the tables. */
export function readPythonBase(): Record<string, string> {
  const tables = Object.keys(generatePythonTables())
  const names = globSync(`${PYTHON_BASE}/**/*.py`, { cwd: ROOT }).filter((name) => !tables.includes(name))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(ROOT, name), 'utf8')]))
}

/** Writes the base into the checkout, in place of the existing one. */
export function writePythonBase(files: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(readPythonBase())) rmSync(join(ROOT, name))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(ROOT, name, '..'), { recursive: true })
    writeFileSync(join(ROOT, name), text)
  }
}

/** Omits what the SDK does automatically, and the names of values that are for Go. */
function documentForPython(): object {
  const document = openAnswerEnums(documentWithoutFailures(300))
  const text = JSON.stringify(document, (key, value: unknown) => (key === 'x-enum-varnames' ? undefined : value))
  return JSON.parse(text, (key, value: unknown) =>
    key === 'parameters' && Array.isArray(value)
      ? value.filter(({ name }: { name?: string }) => name !== 'Sec-WebSocket-Protocol')
      : value,
  ) as object
}

function marksText(): string {
  const rows = [...retryMarks()].map(([id, mark]) => `    "${snakeCase(id)}": ("${id}", "${mark}"),\n`)
  return `${HEAD}
from collections.abc import Mapping
from typing import Literal, TypeAlias

#: \`x-boxyard-retry\`: whether a request may be repeated whose answer did not come.
RetryMark: TypeAlias = Literal["safe", "idempotent", "key", "never"]

#: Every operation: its id, and whether it may be repeated.
OPERATIONS: Mapping[str, tuple[str, RetryMark]] = {
${rows.join('')}}
`
}

function errorsText(): string {
  const names = [...ERROR_STATUSES.keys()].map((code) => [code, errorClassName(code)] as const)
  const classes = names.map(([code, name]) => `class ${name}(ApiError):\n    """\`\`${code}\`\`"""\n\n\n`)
  return `${HEAD}
from collections.abc import Mapping

from .._errors import ApiError


${classes.join('')}#: The class of each error code.
ERROR_CLASSES: Mapping[str, type[ApiError]] = {
${names.map(([code, name]) => `    "${code}": ${name},\n`).join('')}}

__all__ = (
${names.map(([, name]) => `    "${name}",\n`).join('')})
`
}

function snakeCase(id: string): string {
  return id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const PYTHON_BASE = 'sdk/python/src/boxyard/_generated'
const HEAD = '"""Generated by `npm run sdk` from the operation table and its OpenAPI document."""\n'
/** Modules that the SDK writes by hand. */
const UNUSED = ['client.py', 'errors.py']

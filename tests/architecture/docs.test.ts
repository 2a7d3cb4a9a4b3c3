import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { allVerbs } from '../../cli/verbs/all.ts'
import { generatedPages } from '../../infra/api-docs.ts'
import { ROOT } from '../../infra/commands.ts'
import { anchorOf, fillSections, tableOf } from '../../infra/markdown.ts'
import { ERROR_STATUSES } from '../../shared/errors.ts'
import { OPERATIONS } from '../../shared/routes.ts'
import { boxReasonSchema } from '../../shared/schemas/boxes.ts'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Returns the anchors of a page. */
function anchorsOf(path: string): Set<string> {
  const text = read(path).replaceAll(/^```[^]*?^```/gm, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])
}

function commentsOf(path: string): string[] {
  return read(path)
    .split('\n')
    .filter((line) => /^\s*(\/\/|\/?\*|#|--)/.test(line))
}

function isThere(page: string, anchor: string | undefined): boolean {
  if (!existsSync(join(ROOT, page))) return false
  return anchor === undefined || anchorsOf(page).has(anchor)
}

describe('a link to a page of the documentation has a target', () => {
  test.each(tracked.filter((path) => path.endsWith('.md')))('in %s', (path) => {
    const text = read(path).replaceAll(/^```[^]*?^```/gm, '')
    const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
    const lost = links.filter(([, target = '', anchor]) => {
      return !isThere(target === '' ? path : normalize(join(dirname(path), target)), anchor)
    })
    expect(lost.map(([link]) => link)).toEqual([])
  })

  test('in comments of the code', () => {
    const sources = tracked.filter((path) =>
      /^(shared|functions|agent|infra|tests)\/.*\.(ts|mjs|sh|lua|ya?ml|c|go)$/.test(path),
    )
    const cited = sources.flatMap((path) =>
      commentsOf(path).flatMap((line) =>
        [...line.matchAll(/(?<![\w/.-])([\w./-]+\.md)(?:#([\w-]+))?/g)].map(([, page = '', anchor]) => ({
          path,
          page,
          anchor,
        })),
      ),
    )
    expect(cited.length).toBeGreaterThan(20)
    expect(cited.filter(({ page, anchor }) => !isThere(page, anchor))).toEqual([])
  })
})

describe('the generated sections', () => {
  test('are as they were generated', () => {
    for (const [path, text] of generatedPages()) expect(read(path)).toBe(text)
  })

  test('contain every error, operation, verb and reason', () => {
    for (const code of ERROR_STATUSES.keys()) expect(anchorsOf('docs/api/errors.md')).toContain(code)
    for (const { method, path } of OPERATIONS) expect(read('docs/api/operations.md')).toContain(`\`${method} ${path}\``)
    for (const { words } of allVerbs()) expect(anchorsOf('docs/cli.md')).toContain(anchorOf(`boxyard ${words}`))
    for (const reason of boxReasonSchema.options) expect(read('docs/api.md')).toContain(`| \`${reason}\` |`)
  })

  test('are refused if their place is missing, or no generator writes them', () => {
    const text = 'a\n<!-- generated: one -->\nold\n<!-- end: one -->\nb\n'
    expect(fillSections(text, { one: 'new' })).toBe('a\n<!-- generated: one -->\n\nnew\n\n<!-- end: one -->\nb\n')
    expect(() => fillSections(text, { one: 'new', two: 'x' })).toThrow('two')
    expect(() => fillSections(text, {})).toThrow('one')
    expect(() => fillSections(text + text, { one: 'new' })).toThrow('one')
  })

  test('keep a cell of a table in its line', () => {
    expect(tableOf(['A', 'B'], [['a|b', 'c\nd']])).toBe('| A | B |\n|---|---|\n| a\\|b | c d |')
  })
})

test('every page that shows commands with their output is run by a test', () => {
  const shown = tracked.filter((path) => path.endsWith('.md') && /^```console$/m.test(read(path)))
  expect(shown.length).toBeGreaterThan(5)
  const files = [
    'tests/e2e/docs-suite.ts',
    'tests/e2e/operations.test.ts',
    'tests/e2e/clients/ssh-docs.test.ts',
    'tests/fleet/up.test.ts',
    'tests/e2e/debian-company-network.test.ts',
    'tests/e2e/http/https-proxy.test.ts',
    'tests/e2e/several-nodes-page.test.ts',
    'tests/object-store/postgres-page.test.ts',
  ]
  const runners = files.map(read).join('\n')
  expect(shown.filter((path) => !runners.includes(`'${path}'`))).toEqual([])
})

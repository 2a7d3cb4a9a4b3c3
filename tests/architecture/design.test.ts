import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const pages = readdirSync(join(ROOT, 'docs/design')).map((name) => `docs/design/${name}`)
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
const suites = [...tracked.matchAll(/^tests\/.*\.test\.ts$/gm)].map(([path]) => path)

/** Counts words as a reader sees them, without symbols and table frames. */
function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

/** Returns the paths in code spans of a page, from the root of the repository. Excludes paths with a line number or a placeholder. */
function pathsIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return spans.filter((span) => /^(?:agent|cli|docs|functions|infra|sdk|shared|tests|web)\/[\w./-]*$/.test(span))
}

/** Returns the rows of the invariants table: number, invariant, and what enforces it. */
function invariantsOf(page: string): string[][] {
  const section = read(page)
    .split(/^## /m)
    .find((part) => part.startsWith('Invariants\n'))
  const rows = (section ?? '').split('\n').filter((line) => /^\| \d/.test(line))
  return rows.map((row) => row.slice(2, -2).split(' | '))
}

test('ARCHITECTURE.md is a map of two pages, which links every page of the design', () => {
  const map = read('ARCHITECTURE.md')
  expect(countWords(map)).toBeLessThanOrEqual(1200)
  expect(pages.filter((page) => !map.includes(`](${page})`))).toEqual([])
})

describe.each(pages)('%s', (page) => {
  test('states problem, invariants, mechanism and trade-offs on one page', () => {
    const headings = [...read(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['Problem', 'Invariants', 'How it works', 'Trade-offs and rejected alternatives'])
    expect(countWords(read(page))).toBeLessThanOrEqual(720)
  })

  test('numbers its invariants and names a test of each', () => {
    const rows = invariantsOf(page)
    expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, index) => index + 1))
    expect(rows.length).toBeGreaterThan(3)
    const unheld = rows.filter(([, , holder = '']) => {
      return !holder.includes('`npm run check`') && !pathsIn(holder).some((path) => suites.includes(path))
    })
    expect(unheld).toEqual([])
  })
})

test.each(['ARCHITECTURE.md', ...pages])('%s names only files that exist', (page) => {
  expect(pathsIn(read(page)).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

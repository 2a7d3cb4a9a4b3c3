import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { withTree } from '../helpers/files/tree.ts'

/** Returns names that several of `files` below `root` export, with the files that export them. */
function sharedNames(root: string, files: readonly string[]): [name: string, files: string[]][] {
  const filesOf = new Map<string, string[]>()
  for (const file of files) {
    const names = [...readFileSync(join(root, file), 'utf8').matchAll(EXPORT)].map(([, name = '']) => name)
    for (const name of new Set(names)) filesOf.set(name, [...(filesOf.get(name) ?? []), file])
  }
  return [...filesOf].filter(([name, { length }]) => length > 1 && !GIVEN.includes(name))
}

// Clients are separate packages, whose users see no names of the service.
test.each([
  [900, ['agent', 'shared', 'functions', 'infra', 'tests']],
  [10, ['sdk', 'cli']],
  [40, ['web']],
])('no exported name is defined twice', (least, directories) => {
  const listed = execFileSync('git', ['ls-files', ...directories], { cwd: ROOT, encoding: 'utf8' })
  const files = listed.split('\n').filter((file) => /\.tsx?$/.test(file) && !GENERATED.test(file))
  expect(files.length).toBeGreaterThan(least)
  expect(sharedNames(ROOT, files)).toEqual([])
})

test('a name that two files export is found', async () => {
  const files = {
    'a.ts': 'export interface Wish { a: 1 }\nexport const one = 1',
    'b.ts': 'export type Wish = 2\nexport async function other() {}',
    'c.ts': '// export type Wish\nexport function tasks() {}',
    'd.ts': 'export const tasks = {}',
  }
  expect(await withTree(files, (root) => sharedNames(root, Object.keys(files)))).toEqual([['Wish', ['a.ts', 'b.ts']]])
})

const GENERATED = /^tests\/fixtures\/|\/generated\//
const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm
/** Name of every task table. A thread finds the table by this name after loading. */
const GIVEN = ['tasks']

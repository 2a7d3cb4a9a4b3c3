import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import ts from 'typescript'
import { ROOT } from './commands.ts'

/**
 * Drops the methods of zod schemas that neither our schemas nor zod call by name. Every zod schema has every method, and each
 * method pulls in its implementation: address formats, dates, codecs. Saves a tenth of the function's size.
 */
export function withoutUnusedMembers(lighten: (text: string) => string): Plugin {
  return {
    name: 'without-unused-members',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\/zod\/v4\/classic\/schemas\.js$/ }, async ({ path }) => {
        const used = new Set([...namesOfOurs(lighten), ...namesOfZod(join(path, '../..'))])
        return { contents: dropMembers(await readFile(path, 'utf8'), used) }
      })
      // The memoizer supports schemas and values that refer to themselves. None of our schemas does.
      onLoad({ filter: /\/zod\/v4\/core\/memoizer\.js$/ }, () => ({ contents: NO_MEMOIZER }))
    },
  }
}

function namesOfOurs(lighten: (text: string) => string): Set<string> {
  const files = ['shared/schemas', 'shared/routes'].flatMap((directory) => filesIn(join(ROOT, directory), '.ts'))
  return namesIn([...files, join(ROOT, 'shared/validate.ts')].map((path) => lighten(readFileSync(path, 'utf8'))))
}

function namesOfZod(directory: string): Set<string> {
  const files = ['core', 'classic'].flatMap((part) => filesIn(join(directory, part), '.js'))
  return namesIn(files.map((path) => readFileSync(path, 'utf8')))
}

function filesIn(directory: string, ending: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(directory, name))
}

/** Returns the property names that the texts read from anything but a module. */
function namesIn(texts: readonly string[]): Set<string> {
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node) && !MODULES.has(node.expression.getText())) names.add(node.name.text)
    ts.forEachChild(node, visit)
  }
  for (const text of texts) visit(parse(text))
  return names
}

/** Returns `text` with the members of each `$constructor(name, initializer, { …members })` reduced to those in `used`. */
function dropMembers(text: string, used: ReadonlySet<string>): string {
  let result = ''
  let copied = 0
  const visit = (node: ts.Node): void => {
    if (!isMemberOfTrait(node) || node.name === undefined || used.has(node.name.getText())) {
      ts.forEachChild(node, visit)
      return
    }
    result += text.slice(copied, node.getFullStart())
    copied = text.startsWith(',', node.end) ? node.end + 1 : node.end
  }
  visit(parse(text))
  return result + text.slice(copied)
}

function isMemberOfTrait(node: ts.Node): node is ts.ObjectLiteralElementLike {
  if (!ts.isObjectLiteralElementLike(node)) return false
  const call = node.parent.parent
  return (
    ts.isCallExpression(call) && call.expression.getText() === 'core.$constructor' && call.arguments[2] === node.parent
  )
}

function parse(text: string): ts.SourceFile {
  return ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest, true)
}

const MODULES: ReadonlySet<string> = new Set([
  'z',
  'core',
  'util',
  'regexes',
  'checks',
  'parse',
  'processors',
  'schemas',
  'iso',
])
const NO_MEMOIZER = `export const memoizer = () => undefined
export const isBackEdge = () => false
export const isRecursiveSchema = () => false`

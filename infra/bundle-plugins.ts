import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'
import ts from 'typescript'

/**
 * Replaces each `import` of a Node.js module by reads of the members that are used. The import would evaluate every lazy getter. The getter
 * of `node:http` loads all of fetch, 13 ms of a function's start.
 */
export const builtinsAsTheyAre: Plugin = {
  name: 'builtins-as-they-are',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin' }))
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default')
      // Marked as pure, because a bundler only drops calls without side effects.
      const members = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})()`)
      return { contents: [`const builtin = process.getBuiltinModule('${path}')`, ...members].join('\n') }
    })
  },
}

/** Drops zod's JSON Schema writer, which zod ties to every schema. A function only checks requests. */
export const withoutJsonSchema: Plugin = {
  name: 'without-json-schema',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/zod\/v4\/core\/(json-schema-processors|to-json-schema)\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const names = Array.from(source.matchAll(/^export (?:const|function) (\w+)/gm), ([, name]) => name)
      return { contents: names.map((name) => `export const ${name} = undefined`).join('\n') }
    })
  },
}

/**
 * Drops the schemas of answers, summaries, details, errors and all descriptions, which a function does not use. Makes the rest lazy,
 * because a request needs the schemas of one operation. Saves a third of a function's start.
 */
export const lightSchemas: Plugin = {
  name: 'light-schemas',
  setup: ({ onResolve, onLoad }) => {
    onLoad({ filter: /\/shared\/(routes|schemas)\/[a-z-]+\.ts$/ }, async ({ path }) => ({
      contents: `import { lazySchema } from 'lazy-schema'\n${lighten(await readFile(path, 'utf8'))}`,
      loader: 'ts',
    }))
    onResolve({ filter: /^lazy-schema$/ }, ({ path }) => ({ path, namespace: 'lazy-schema' }))
    onLoad({ filter: /.*/, namespace: 'lazy-schema' }, () => ({ contents: LAZY_SCHEMA }))
  },
}

export function lighten(text: string): string {
  const source = ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest, true)
  const print = (node: ts.Node): string => {
    if (isProperty(node, ['response', 'laterResponse', 'errors', 'summary', 'details'])) return '...{}'
    if (isDescribed(node)) return print(node.expression.expression)
    let result = ''
    let copied = node.getFullStart()
    ts.forEachChild(node, (child) => {
      result += text.slice(copied, child.getFullStart())
      // Marked as pure, because a bundler only drops calls without side effects.
      result += isSchema(child) ? ` /* @__PURE__ */ lazySchema(() => ${print(child)})` : print(child)
      copied = child.end
    })
    return result + text.slice(copied, node.end)
  }
  return print(source)
}

/** Matches `schema.meta({…})`. */
function isDescribed(node: ts.Node): node is ts.CallExpression & { expression: ts.PropertyAccessExpression } {
  if (!ts.isCallExpression(node) || node.arguments.length !== 1) return false
  return ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'meta'
}

/**
 * Matches a call that defines a top-level constant of a schema module, a field that several schemas share, or the params, query or
 * body of an operation.
 */
function isSchema(node: ts.Node): boolean {
  if (!ts.isCallExpression(node)) return false
  const { parent } = node
  if (ts.isVariableDeclaration(parent)) return isTopLevel(parent) && !isUpperCase(parent.name.getText())
  return isProperty(parent, ['params', 'query', 'body']) || isSharedField(node)
}

/** Matches a property of a top-level object literal that is a chain of calls on zod, or on another schema. */
function isSharedField(node: ts.CallExpression): boolean {
  const fields = ts.isPropertyAssignment(node.parent) ? node.parent.parent.parent : undefined
  if (fields === undefined || !ts.isVariableDeclaration(fields) || !isTopLevel(fields)) return false
  let start: ts.Expression = node
  while (ts.isCallExpression(start) || ts.isPropertyAccessExpression(start)) start = start.expression
  return ts.isIdentifier(start) && /^z$|Schema$/.test(start.text)
}

function isTopLevel(declaration: ts.VariableDeclaration): boolean {
  return ts.isSourceFile(declaration.parent.parent.parent)
}

function isUpperCase(name: string): boolean {
  return name === name.toUpperCase()
}

function isProperty(node: ts.Node, names: readonly string[]): node is ts.PropertyAssignment {
  return ts.isPropertyAssignment(node) && names.includes(node.name.getText())
}

/** Creates the schema of `make` on first access. A proxy suffices because zod reads schemas only through properties. */
const LAZY_SCHEMA = `export const lazySchema = (make) => {
  let made
  const schema = () => (made ??= make())
  return new Proxy({}, { get: (_, name) => schema()[name], has: (_, name) => name in schema() })
}`

import type { Program } from 'oxc-parser'
import { isNode, type Node } from './node.ts'
import type { Passage } from './passage.ts'

/**
 * Returns the names that a module gives, each once: of the file, variables, parameters, functions, classes, types, fields and values of
 * types. A name that it only uses counts where it is given. The text of a passage is the name as words: `in turn` for `inTurn`.
 */
export function namesOf(file: string, program: Program): Passage[] {
  const names = new Map<string, number>([[fileNameOf(file), 0]])
  // Keys of an object mostly repeat the fields of a type. In the contract they are the fields of the API.
  const hasKeys = file.startsWith('shared/')
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (!isNode(value)) return
    const keys = hasKeys && value.type === 'ObjectExpression' ? keysOf(value) : []
    for (const { start, name } of [...givenBy(value), ...keys]) if (!names.has(name)) names.set(name, start)
    for (const child of Object.values(value)) visit(child)
  }
  visit(program)
  return [...names].map(([name, start]) => ({ kind: 'name', start, text: wordsOf(name) }))
}

/** Returns the words of an identifier or of a name with hyphens, in lower case. */
function wordsOf(name: string): string {
  return name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .replaceAll(/[^A-Za-z\d]+/g, ' ')
    .toLowerCase()
    .trim()
}

function fileNameOf(file: string): string {
  return (file.split('/').at(-1) ?? '').replace(/\.(?:test\.)?\w+$/, '')
}

interface Given {
  name: string
  start: number
}

/** Returns the names that a node itself gives, but not its children. */
function givenBy(node: Node): Given[] {
  const own = OWN_NAME[node.type]
  const patterns = PATTERNS[node.type]
  return [
    ...(own === undefined || node['computed'] === true ? [] : textOf(node[own])),
    ...(patterns === undefined ? [] : [node[patterns]].flat().flatMap(namesOfPattern)),
    ...aliasOf(node),
  ]
}

/** Returns the new name of an import or export under another name. */
function aliasOf({ type, local, imported, exported }: Node): Given[] {
  if (type !== 'ImportSpecifier' && type !== 'ExportSpecifier') return []
  const [old, now] = type === 'ImportSpecifier' ? [imported, local] : [local, exported]
  const [was] = textOf(old)
  return textOf(now).filter(({ name }) => name !== was?.name)
}

/** Returns the keys of an object literal, without those that repeat a variable. */
function keysOf({ properties }: Node): Given[] {
  return [properties].flat().flatMap((property) => {
    if (!isNode(property) || property['shorthand'] === true || property['computed'] === true) return []
    return textOf(property['key'])
  })
}

/** Returns the variables of a parameter or declaration, which may take an object or array apart. */
function namesOfPattern(pattern: unknown): Given[] {
  if (!isNode(pattern)) return []
  const { type } = pattern
  if (type === 'Identifier') return textOf(pattern)
  if (type === 'AssignmentPattern') return namesOfPattern(pattern['left'])
  if (type === 'RestElement') return namesOfPattern(pattern['argument'])
  if (type === 'ArrayPattern') return [pattern['elements']].flat().flatMap(namesOfPattern)
  if (type !== 'ObjectPattern') return []
  return [pattern['properties']].flat().flatMap((property) => {
    if (!isNode(property)) return []
    if (property.type === 'RestElement') return namesOfPattern(property)
    // `{ name }` uses a name that the type gives. `{ name: other }` gives another.
    return property['shorthand'] === true ? [] : namesOfPattern(property['value'])
  })
}

/** Returns the name of an identifier, and the text of a string. */
function textOf(node: unknown): Given[] {
  if (!isNode(node)) return []
  const text = node.type === 'Literal' ? node['value'] : node['name']
  return typeof text === 'string' ? [{ name: text, start: node.start }] : []
}

/** Nodes that give a name, with the field that has it. */
const OWN_NAME: Readonly<Record<string, string>> = {
  ClassDeclaration: 'id',
  ClassExpression: 'id',
  FunctionDeclaration: 'id',
  FunctionExpression: 'id',
  ImportDefaultSpecifier: 'local',
  ImportNamespaceSpecifier: 'local',
  MethodDefinition: 'key',
  PropertyDefinition: 'key',
  TSInterfaceDeclaration: 'id',
  TSLiteralType: 'literal',
  TSMethodSignature: 'key',
  TSPropertySignature: 'key',
  TSTypeAliasDeclaration: 'id',
  TSTypeParameter: 'name',
}
/** Nodes that give variables by patterns. */
const PATTERNS: Readonly<Record<string, string>> = {
  ArrowFunctionExpression: 'params',
  CatchClause: 'param',
  FunctionDeclaration: 'params',
  FunctionExpression: 'params',
  TSCallSignatureDeclaration: 'params',
  TSConstructorType: 'params',
  TSFunctionType: 'params',
  TSIndexSignature: 'parameters',
  TSMethodSignature: 'params',
  VariableDeclarator: 'id',
}

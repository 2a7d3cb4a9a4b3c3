import type { Program } from 'oxc-parser'
import { isNode, type Node } from './node.ts'
import { blank, CODE, type Passage, splitPassage, wordFor } from './passage.ts'

/** Returns the strings, templates and JSX texts that people read. Joins a concatenation into one. */
export function stringsOf(program: Program, source: string): Passage[] {
  const passages: Passage[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each)
    if (!isNode(value) || isUnread(value)) return
    const pieces = piecesOf(value)
    if (pieces.length > 0) passages.push(join(pieces, source))
    for (const [key, child] of Object.entries(value)) if (!isCovered(value, key)) visit(child)
  }
  visit(program)
  return passages.flatMap((passage) => splitPassage(passage, /\n\s*\n/g)).filter(({ text }) => isProse(text))
}

/** A range of the source: text without its quotes, or a placeholder of a template. */
interface Piece {
  start: number
  end: number
  isHole: boolean
}

/** Returns the pieces of a string, a template or a concatenation. Other nodes have none. */
function piecesOf(node: Node): Piece[] {
  const { type, start, end } = node
  if (type === 'JSXText') return [{ start, end, isHole: false }]
  if (type === 'Literal' && typeof node['value'] === 'string')
    return [{ start: start + 1, end: end - 1, isHole: false }]
  if (type === 'TemplateLiteral') return piecesOfTemplate(node)
  if (type !== 'BinaryExpression' || node['operator'] !== '+') return []
  const sides = [node['left'], node['right']].filter(isNode)
  const pieces = sides.map(piecesOf)
  if (pieces.every(({ length }) => length === 0)) return []
  return sides.flatMap((side, i) => {
    const own = pieces[i] ?? []
    return own.length > 0 ? own : [{ start: side.start, end: side.end, isHole: true }]
  })
}

function piecesOfTemplate({ start, end, expressions }: Node): Piece[] {
  const pieces: Piece[] = []
  let from = start + 1
  for (const hole of (Array.isArray(expressions) ? expressions : []).filter(isNode)) {
    pieces.push(
      { start: from, end: hole.start - 2, isHole: false },
      { start: hole.start - 2, end: hole.end + 1, isHole: true },
    )
    from = hole.end + 1
  }
  return [...pieces, { start: from, end: end - 1, isHole: false }]
}

function join(pieces: readonly Piece[], source: string): Passage {
  const start = pieces[0]?.start ?? 0
  let text = ''
  for (const piece of pieces) {
    text += ' '.repeat(piece.start - start - text.length)
    const raw = source.slice(piece.start, piece.end)
    text += piece.isHole ? 'X'.repeat(raw.length) : wordFor(blank(raw, /\\[nrt]/g), /\\u\{?[\da-fA-F]+\}?|\\[^n]/g)
  }
  return { kind: 'string', start, text: wordFor(text, CODE) }
}

/** Returns true for nodes whose strings only programs read, such as module names, types and CSS classes. */
function isUnread({ type, name }: Node): boolean {
  if (/^(?:Import|Export(?:All|Specifier)|TS(?!As|Satisfies|NonNull|Parameter|Enum|Module))/.test(type)) return true
  return type === 'JSXAttribute' && isNode(name) && STYLES.test(String(name['name']))
}

/** Returns true for a child that is already a piece of its parent, and for keys of properties. */
function isCovered(node: Node, key: string): boolean {
  if (key === 'key' || key === 'quasis' || key === 'typeAnnotation') return true
  return (
    node.type === 'BinaryExpression' &&
    node['operator'] === '+' &&
    piecesOf(node).length > 0 &&
    (key === 'left' || key === 'right')
  )
}

/** Guesses whether people read a text. Looks for words of grammar, or a capital at the beginning, and for signs of code. */
function isProse(text: string): boolean {
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length < 2 || STATEMENT.test(text) || PROGRAM.test(text)) return false
  const plain = words.filter((word) => /^["'(“‘]*\p{L}[\p{L}’'-]*[.,;:!?)"'”’…]*$/u.test(word))
  if (plain.length / words.length < 0.7 || !plain.some((word) => /[a-z]/.test(word))) return false
  return GRAMMAR.test(text) || (/^\s*["'(“]?\p{Lu}\p{Ll}+ /u.test(text) && words.length <= 6)
}

const STYLES = /^(?:className|class|style|d|viewBox|href|src|to|id|key|type|role|autoComplete|rel|target)$/
const STATEMENT = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|ALTER|DROP|ATTACH|VACUUM|BEGIN)\b/
const PROGRAM = /&&|\|\||\$\(|=>|<\/|[{}]|;\s*(?:then|do|done|fi)\b|^\s*#!|\bflex\b|\b(?:px|py|gap|text)-\d/
const GRAMMAR =
  /\b(?:the|an?|of|to|is|are|in|and|or|for|no|not|it|its|with|on|this|that|be|by|has|have|from|at|as|was|were|can|cannot|must)\b/

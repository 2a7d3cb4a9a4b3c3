import { type Comment, type ParseResult, parseSync } from 'oxc-parser'
import { namesOf } from './names.ts'
import { blank, CODE, type Passage, splitPassage, wordFor } from './passage.ts'
import { stringsOf } from './strings.ts'

/** Returns the comments and names of a TypeScript module and, if `withStrings`, the strings that people read. */
export function passagesOfTypeScript(file: string, source: string, withStrings: boolean): Passage[] {
  const parsed = parseSync(file, source)
  const passages = [...commentsOf(parsed, source), ...namesOf(file, parsed.program)]
  return withStrings ? [...passages, ...stringsOf(parsed.program, source)] : passages
}

function commentsOf({ comments }: ParseResult, source: string): Passage[] {
  return blocksOf(comments, source)
    .filter(({ start, end }) => !DIRECTIVE.test(source.slice(start, end)))
    .flatMap(({ start, end }) => {
      const text = wordFor(wordFor(source.slice(start, end), /\{@\w+[^}]*\}/g), CODE)
      const own = blank(blank(text, /^\s*(?:\/\/+|\/\*+|\*(?!\/))/gm), /\*+\/$/g)
      return splitPassage({ kind: 'comment', start, text: own }, PART)
    })
    .map((passage) => ({ ...passage, text: blank(passage.text, TAG) }))
}

/** Joins line comments on consecutive lines. */
function blocksOf(comments: readonly Comment[], source: string): { start: number; end: number }[] {
  const blocks: { start: number; end: number; isJoinable: boolean }[] = []
  for (const { type, start, end } of comments) {
    const last = blocks.at(-1)
    const hasOwnLine = /^[ \t]*$/.test(source.slice(source.lastIndexOf('\n', start - 1) + 1, start))
    const isJoinable = type === 'Line' && hasOwnLine && !DIRECTIVE.test(source.slice(start, end))
    if (last?.isJoinable === true && isJoinable && /^\n[ \t]*$/.test(source.slice(last.end, start))) last.end = end
    else blocks.push({ start, end, isJoinable })
  }
  return blocks
}

const DIRECTIVE = /^\/[/*]+\s*(?:oxlint|eslint|biome|prettier|@ts-|#|<reference|!)/
/** Splits a comment at empty lines, list items and tags. */
const PART = /\n[ \t]*\n|\n[ \t]*(?=(?:[-•]|\d+\.) |@\w)|(?<=^\s*)@\w/g
const TAG = /^\s*(?:[-•]|\d+\.|@(?:param|template|throws|property)\s+\S+|@\w+)/g

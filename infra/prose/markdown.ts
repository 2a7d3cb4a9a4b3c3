import { parse } from '@textlint/markdown-to-ast'
import { type Passage } from './passage.ts'

interface Node {
  type: string
  range: readonly [number, number]
  children?: Node[]
}

/** Returns the prose of a Markdown page, without its code and the sections that `npm run docs` writes. */
export function passagesOfMarkdown(source: string): Passage[] {
  // The source of a generated section is code, where the same rules check it.
  const own = source.replaceAll(GENERATED, (section) => section.replaceAll(/[^\n]/g, ' '))
  const passages: Passage[] = []
  const visit = (node: Node): void => {
    const kind = KINDS[node.type]
    if (kind === undefined) for (const child of node.children ?? []) visit(child)
    else passages.push({ kind, start: node.range[0], text: textOf(node, own) })
  }
  const page: unknown = parse(own)
  visit(page as Node)
  return passages.filter(({ text }) => /\p{L}/u.test(text))
}

/** Returns the text of a block, at its place in the source. Markup becomes spaces, and code a word. */
function textOf(block: Node, source: string): string {
  const [start, end] = block.range
  const text = source.slice(start, end).replaceAll(/[^\s]/g, ' ').split('')
  const put = (words: string, at: number): void => {
    for (let i = 0; i < words.length; i++) text[at - start + i] = words[i] ?? ' '
  }
  const visit = (node: Node): void => {
    const [from, to] = node.range
    if (node.type === 'Str') put(source.slice(from, to), from)
    else if (node.type === 'Code' || isAddress(node, source)) put('X'.repeat(to - from), from)
    else for (const child of node.children ?? []) visit(child)
  }
  visit(block)
  return text.join('')
}

/** Returns true for a link that shows its address, rather than a text. */
function isAddress(node: Node, source: string): boolean {
  return node.type === 'Link' && !source.slice(...node.range).startsWith('[')
}

const GENERATED = /<!-- generated: ([a-z-]+) -->[^]*?<!-- end: \1 -->/g
const KINDS: Readonly<Record<string, Passage['kind']>> = {
  Paragraph: 'text',
  TableCell: 'cell',
  Header: 'heading',
}

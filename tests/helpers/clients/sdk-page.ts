/** A program of docs/sdk.md, with what it prints. */
export interface DocumentedProgram {
  line: number
  text: string
  /** Lines that it prints, in this order. */
  prints: string[]
}

/** Returns the blocks ```ts of a page; each after the first begins with that, which only connects. */
export function programsIn(page: string): DocumentedProgram[] {
  const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(({ 1: text = '', index }) => ({
    line: page.slice(0, index).split('\n').length,
    text,
    prints: [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, printed = '']) => printed),
  }))
  const [first, ...rest] = blocks
  return rest.map((block) => ({ ...block, text: `${first?.text}\n${block.text}` }))
}

/** A program of docs/sdk.md and its output. */
export interface DocumentedProgram {
  line: number
  text: string
  /** Output lines, in order. */
  prints: string[]
}

/** Returns the ```ts blocks of a page after the first. The first block only connects, so each result starts with it. */
export function programsIn(page: string): DocumentedProgram[] {
  const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(({ 1: text = '', index }) => ({
    line: page.slice(0, index).split('\n').length,
    text,
    prints: [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, printed = '']) => printed),
  }))
  const [first, ...rest] = blocks
  return rest.map((block) => ({ ...block, text: `${first?.text}\n${block.text}` }))
}

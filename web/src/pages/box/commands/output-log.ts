import type { OutputPiece } from '@boxyard/sdk'

/** Output of one stream, uninterrupted by the other. */
export interface OutputBlock {
  id: number
  stream: OutputPiece['stream']
  text: string
}

/** The end of a command's output. */
export interface OutputLog {
  blocks: readonly OutputBlock[]
  /** Whether earlier output is dropped. */
  isCut: boolean
  nextId: number
}

export const NO_OUTPUT: OutputLog = { blocks: [], isCut: false, nextId: 1 }

/** Returns the log with more output. Keeps the last 128 Ki characters, and of these the last 2,000 lines and 500 blocks. */
export function withOutput(log: OutputLog, more: readonly Pick<OutputBlock, 'stream' | 'text'>[]): OutputLog {
  const blocks = [...log.blocks]
  let { isCut, nextId } = log
  for (const { stream, text } of more) {
    const last = blocks.at(-1)
    if (last?.stream === stream) blocks[blocks.length - 1] = { ...last, text: last.text + text }
    else blocks.push({ id: nextId++, stream, text })
  }
  const start = startOfKept(blocks)
  while (start.block > 0 || start.character > 0) {
    const first = blocks.shift()
    if (first === undefined) break
    isCut = true
    if (start.block === 0) {
      blocks.unshift({ ...first, text: first.text.slice(start.character) })
      break
    }
    start.block--
  }
  return { blocks, isCut, nextId }
}

/** Returns where the kept part of the blocks begins. */
function startOfKept(blocks: readonly OutputBlock[]): { block: number; character: number } {
  let characters = 0
  let lines = 0
  for (let block = blocks.length - 1; block >= 0; block--) {
    if (blocks.length - block > KEPT_BLOCKS) return { block: block + 1, character: 0 }
    const text = blocks[block]?.text ?? ''
    for (let character = text.length - 1; character >= 0; character--) {
      characters++
      if (text.charCodeAt(character) === LINE_FEED) lines++
      if (characters > KEPT_CHARACTERS || lines > KEPT_LINES) return { block, character: character + 1 }
    }
  }
  return { block: 0, character: 0 }
}

/** Returns text without the sequences that colour it and move the cursor in a terminal. */
export function withoutEscapes(text: string): string {
  return text.replaceAll(ESCAPES, '')
}

const KEPT_CHARACTERS = 128 * 1024
/** A browser needs too long to lay out more of them many times a second. */
const KEPT_LINES = 2_000
/** Each is a separate element, even if two streams alternate after each character. */
const KEPT_BLOCKS = 500
const LINE_FEED = 10
// ECMA-48, 5.4, control sequences. Also sequences that set a title and end with BEL or ST.
const ESCAPES = new RegExp(String.raw`\u001b(\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)?)`, 'g')

import { describe, expect, test } from '@jest/globals'
import headless from '@xterm/headless'
import { setCellWidths } from '../../../web/src/terminal/cell-widths.ts'

/** Returns the number of cells that a terminal uses for a text. */
async function cellsOf(text: string): Promise<number> {
  const terminal = new headless.Terminal({ allowProposedApi: true, cols: 80, rows: 5 })
  setCellWidths(terminal)
  await new Promise<void>((resolve) => terminal.write(text, resolve))
  const { cursorX } = terminal.buffer.active
  terminal.dispose()
  return cursorX
}

describe('the cells of a text', () => {
  test.each([
    ['letters', 'aé', 2],
    ['an accent of its own', 'e\u0301x', 2],
    ['Chinese, Japanese and Korean', '漢字かな한글', 12],
    ['Korean in parts', '\u1112\u1161\u11ab', 2],
    ['half and full width', 'ｱＡ', 3],
    ['an emoji', '😀', 2],
    ['emoji of Unicode 12 to 15', '🪐🥲🫠🫨', 8],
    ['symbols that are emoji by themselves', '✅⭐⚡', 6],
    ['symbols that are text', '❤⚠✔☎', 4],
    ['symbols that are made emoji', '❤️⚠️✔️☎️', 8],
    ['a keycap', '1️⃣#️⃣', 4],
    ['digits', '1234#*', 6],
    ['a colour of the skin', '👍🏽', 2],
    ['a colour alone', '🏽', 2],
    ['flags', '🇩🇪🇫🇷', 4],
    ['half a flag and a letter', '🇩x', 2],
    ['a family', '👩‍👩‍👧', 2],
    ['a flag of several', '🏳️‍🌈', 2],
    ['a family and another emoji', '👨‍💻🫠x', 5],
    ['a joiner between letters', 'a\u200db', 2],
    ['box drawing and blocks', '┌─┐█▒', 5],
    ['a rare ideograph', '𠀀', 2],
  ])('%s', async (_name, text, cells) => {
    expect(await cellsOf(text)).toBe(cells)
  })

  test('an emoji at the end of a line goes to the next', async () => {
    expect(await cellsOf(`${'x'.repeat(79)}😀`)).toBe(2)
  })
})

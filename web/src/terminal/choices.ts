import { BrowserChoice } from '../shell/browser-choice.ts'

/** Whether a screen reader reads terminals aloud, which makes them slower. */
export const screenReader = new BrowserChoice('boxyard.screen-reader', (kept) => kept !== null)

/** The font size of terminals, in pixels. */
export const fontSize = new BrowserChoice('boxyard.terminal-font-size', (kept) => {
  const size = Number(kept ?? FONT_SIZE)
  return Number.isInteger(size) && size >= FONT_SIZE_MIN && size <= FONT_SIZE_MAX ? size : FONT_SIZE
})

/** Makes the letters larger (1) or smaller (-1) by a pixel, within 8–32. 0 resets them to 13. */
export function changeFontSize(by: 1 | -1 | 0): void {
  const next = Math.min(FONT_SIZE_MAX, Math.max(FONT_SIZE_MIN, fontSize.value + by))
  fontSize.choose(by === 0 ? null : String(next))
}

const FONT_SIZE = 13
const FONT_SIZE_MIN = 8
const FONT_SIZE_MAX = 32

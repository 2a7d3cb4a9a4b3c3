/** The part of a terminal that knows character widths. xterm's own types need the types of a browser, which tests lack. */
interface WidthsOfTerminal {
  register(provider: { version: string; wcwidth: typeof wcwidth; charProperties: typeof charProperties }): void
  activeVersion: string
}

/**
 * Gives a terminal the widths in which browsers draw characters, by the Unicode of the browser. Emoji, also of several code points, and
 * East Asian characters take two cells. xterm's own widths follow Unicode 6. Its add-ons end at Unicode 11, or take one cell for each
 * emoji.
 */
export function setCellWidths({ unicode }: { unicode: WidthsOfTerminal }): void {
  unicode.register({ version: VERSION, wcwidth, charProperties })
  unicode.activeVersion = VERSION
}

/** Returns how many cells a single code point takes. */
function wcwidth(code: number): 0 | 1 | 2 {
  const { width } = traitsOf(code)
  return width
}

/** Returns how a code point continues the one before: xterm's number of a state, a width, and whether both share their cells. */
function charProperties(code: number, before: number): number {
  const { width, kind } = traitsOf(code)
  const state = before >> 3
  const widthBefore = (before >> 1) & 3
  const joins = widthBefore > 0 && joinsTo(state, kind)
  if (!joins) return valueOf(stateAfter(kind), width, false)
  if (kind === 'emojiStyle') {
    const isEmoji = state === STATE.emoji || state === STATE.keycapBase
    return valueOf(isEmoji ? STATE.emoji : state, isEmoji ? 2 : widthBefore, true)
  }
  if (kind === 'joiner') return valueOf(state === STATE.emoji ? STATE.joined : STATE.other, widthBefore, true)
  if (kind === 'flag') return valueOf(STATE.other, 2, true)
  return valueOf(state === STATE.joined ? STATE.emoji : state, Math.max(widthBefore, width), true)
}

type Kind = 'other' | 'mark' | 'emojiStyle' | 'joiner' | 'emoji' | 'skin' | 'flag' | 'keycapBase'

interface Traits {
  width: 0 | 1 | 2
  kind: Kind
}

/** The previous text: an emoji, one followed by a joiner, the first half of a flag, or a digit that may become a keycap. */
const STATE = { other: 0, emoji: 1, joined: 2, flag: 3, keycapBase: 4 } as const

function joinsTo(state: number, kind: Kind): boolean {
  if (kind === 'mark' || kind === 'emojiStyle' || kind === 'joiner') return true
  if (kind === 'skin') return state === STATE.emoji || state === STATE.joined
  if (kind === 'emoji') return state === STATE.joined
  return kind === 'flag' && state === STATE.flag
}

function stateAfter(kind: Kind): number {
  if (kind === 'emoji' || kind === 'skin') return STATE.emoji
  if (kind === 'flag') return STATE.flag
  return kind === 'keycapBase' ? STATE.keycapBase : STATE.other
}

function valueOf(state: number, width: number, joins: boolean): number {
  return (state << 3) | (width << 1) | (joins ? 1 : 0)
}

const known = new Map<number, Traits>()

function traitsOf(code: number): Traits {
  let traits = known.get(code)
  if (traits === undefined) {
    traits = findTraits(code)
    known.set(code, traits)
  }
  return traits
}

function findTraits(code: number): Traits {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return { width: 0, kind: 'other' }
  if (KEYCAP_BASES.has(code)) return { width: 1, kind: 'keycapBase' }
  if (code < FIRST_COMBINING)
    return { width: 1, kind: /\p{Extended_Pictographic}/u.test(String.fromCodePoint(code)) ? 'emoji' : 'other' }
  if (code === 0xfe0f) return { width: 0, kind: 'emojiStyle' }
  if (code === 0x200d) return { width: 0, kind: 'joiner' }
  const text = String.fromCodePoint(code)
  if (/\p{Emoji_Modifier}/u.test(text)) return { width: 2, kind: 'skin' }
  if (/\p{Regional_Indicator}/u.test(text)) return { width: 1, kind: 'flag' }
  if (MARKS.test(text) && !VISIBLE_FORMATS.test(text)) return { width: 0, kind: 'mark' }
  const width = /\p{Emoji_Presentation}/u.test(text) || isWide(code) ? 2 : 1
  return { width, kind: /\p{Extended_Pictographic}/u.test(text) ? 'emoji' : 'other' }
}

function isWide(code: number): boolean {
  return WIDE.some(([first, last]) => code >= first && code <= last)
}

const VERSION = 'browser'
const FIRST_COMBINING = 0x300
const KEYCAP_BASES = new Set(Array.from('0123456789#*', (char) => char.charCodeAt(0)))
/** Marks, format characters, and the vowels and finals of Hangul that are written in parts. */
const MARKS = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]$/u
/** Format characters that have a shape. */
const VISIBLE_FORMATS = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u
/** Wide and fullwidth in EastAsianWidth.txt besides emoji, including reserved code points between them. */
const WIDE: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18dff],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f265],
  [0x20000, 0x3fffd],
]

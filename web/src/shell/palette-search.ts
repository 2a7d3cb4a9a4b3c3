/** A link or a command of the palette. */
export interface PaletteEntry {
  name: string
  kind: string
  /** Target of a link. Null for a command. */
  href: string | null
  act?: () => void
}

/**
 * Returns at most 50 entries that match all words of `text`. Prefixes come first, then substrings, then entries with the letters of a word in
 * order, such as `yard/web-main` for `wbmn`.
 */
export function searchEntries<Entry extends Pick<PaletteEntry, 'name'>>(
  entries: readonly Entry[],
  text: string,
): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found: { entry: Entry; rank: number }[] = []
  for (const entry of entries) {
    const rank = rankOf(entry.name.toLowerCase(), words)
    if (rank !== null) found.push({ entry, rank })
  }
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, FOUND_MAX)
    .map(({ entry }) => entry)
}

/** Returns the rank of a match, 0 for the best. Null without a match. */
function rankOf(name: string, words: readonly string[]): number | null {
  const first = words[0] ?? ''
  if (words.every((word) => name.includes(word))) {
    const part = name.slice(name.lastIndexOf('/') + 1)
    return name.startsWith(first) || part.startsWith(first) ? 0 : 1
  }
  let rank = 2
  for (const word of words) {
    const gap = gapOf(name, word)
    if (gap === null) return null
    rank += gap
  }
  return rank
}

/** Returns the fewest letters between the letters of a word in a name. Null if the name does not have them in order. */
function gapOf(name: string, word: string): number | null {
  let least: number | null = null
  for (let start = name.indexOf(word.charAt(0)); start >= 0; start = name.indexOf(word.charAt(0), start + 1)) {
    let at = start
    for (const letter of word.slice(1)) {
      at = name.indexOf(letter, at + 1)
      if (at < 0) return least
    }
    const gap = at - start + 1 - word.length
    if (least === null || gap < least) least = gap
  }
  // Letters far apart belong to different words.
  return least !== null && least <= GAP_PER_LETTER * word.length ? least : null
}

const FOUND_MAX = 50
const GAP_PER_LETTER = 3

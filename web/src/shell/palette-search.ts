/** Something that the palette leads to. */
export interface PaletteEntry {
  href: string
  name: string
  kind: string
}

/** Returns the entries that have all words of `text`, those that begin with it first, at most 50. */
export function searchEntries(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found: { entry: PaletteEntry; rank: number }[] = []
  for (const entry of entries) {
    const name = entry.name.toLowerCase()
    if (!words.every((word) => name.includes(word))) continue
    const first = words[0] ?? ''
    const part = name.slice(name.lastIndexOf('/') + 1)
    found.push({ entry, rank: name.startsWith(first) || part.startsWith(first) ? 0 : 1 })
  }
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, FOUND_MAX)
    .map(({ entry }) => entry)
}

const FOUND_MAX = 50

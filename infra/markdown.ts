/** Renders a Markdown table. Line breaks in cells become spaces. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lineOf = (cells: readonly string[]): string => `| ${cells.map(cellOf).join(' | ')} |`
  return [lineOf(head), `|${'---|'.repeat(head.length)}`, ...rows.map(lineOf)].join('\n')
}

/** Returns the anchor that Markdown renderers create for a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

/**
 * Replaces the text between `<!-- generated: name -->` and `<!-- end: name -->` in `text`, for each of `sections`.
 * @throws Error for missing markers, and for a section of `text` that `sections` does not have
 */
export function fillSections(text: string, sections: Readonly<Record<string, string>>): string {
  const left = new Set(Object.keys(sections))
  const filled = text.replaceAll(SECTION, (_all, name: string) => {
    const content = sections[name]
    if (content === undefined || !left.delete(name))
      throw new Error(`nobody writes the section "${name}", or it is there twice`)
    return `<!-- generated: ${name} -->\n\n${content}\n\n<!-- end: ${name} -->`
  })
  if (left.size > 0) throw new Error(`there is no place for the sections ${[...left].join(', ')}`)
  return filled
}

function cellOf(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
}

const SECTION = /<!-- generated: ([a-z-]+) -->\n[^]*?<!-- end: \1 -->/g

/** Formats tags for editing, one a line, such as `env=prod`. */
export function tagLines(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join('\n')
}

/** Returns the tags of lines such as `env=prod`. A key without a value gets an empty one. */
export function parseTags(lines: string): Record<string, string> {
  const tags: Record<string, string> = {}
  for (const line of lines.split('\n')) {
    const at = line.indexOf('=')
    const key = (at < 0 ? line : line.slice(0, at)).trim()
    if (key !== '') tags[key] = at < 0 ? '' : line.slice(at + 1).trim()
  }
  return tags
}

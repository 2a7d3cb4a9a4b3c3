/** Limits of a JSON text: fields of objects, and fields and elements of arrays together. */
export interface JsonBounds {
  fields: number
  values: number
}

/**
 * Returns what is wrong with the shape of a JSON text, such as "has more than 1024 fields", or null. Counts brackets and separators outside
 * strings before parsing, so that no parser or validator recurses deeply or expands a small input. A megabyte of unknown fields would cost
 * a quarter of a second, and 8,192 variables with bad names 45 ms.
 */
export function shapeFault(text: string, bounds: JsonBounds): string | null {
  let depth = 0
  let fields = 0
  let separators = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
    else if (code === COLON) fields++
    else if (code === COMMA) separators++
    if (depth > MAX_JSON_DEPTH) return `is nested deeper than ${MAX_JSON_DEPTH} levels`
    if (fields > bounds.fields) return `has more than ${bounds.fields} fields`
    if (separators >= bounds.values) return `has more than ${bounds.values} fields and elements`
  }
  return null
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

// Deepest nesting of JSON that is parsed.
const MAX_JSON_DEPTH = 64

const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const BACKSLASH = 0x5c

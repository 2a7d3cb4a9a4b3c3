/**
 * Shows characters that command a terminal by their codes, all but tabs and new lines, and bytes of names that are not UTF-8. A pure
 * function.
 */
export function visibleText(text: string): string {
  return text.replaceAll(COMMANDS, codeOf).replaceAll(ESCAPED_BYTES, byteOf)
}

/** Does the same for text that must stay on one line, such as a name in a list. Also escapes tabs and new lines. A pure function. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll(/[\t\n]/g, codeOf)
}

/** Formats a value as JSON with such characters escaped, including those that JSON leaves unescaped. A pure function. */
export function visibleJson(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, null, indent))
}

/** Escapes such characters in JSON text. A pure function. */
export function escapeJson(json: string): string {
  return json.replaceAll(COMMANDS, (character) => `\\u${hex(character, 4)}`)
}

/** Escapes such characters in YAML, where they appear only between double quotes. A pure function. */
export function escapeYaml(yaml: string): string {
  return yaml.replaceAll(COMMANDS, codeOf)
}

/** Returns whether a text has a character that commands a terminal. A pure function. */
export function commandsTerminal(text: string): boolean {
  return text.search(COMMANDS) >= 0
}

function codeOf(character: string): string {
  return character.charCodeAt(0) > 0xff ? `\\u${hex(character, 4)}` : `\\x${hex(character, 2)}`
}

function byteOf(escaped: string): string {
  return `\\x${hex(String.fromCharCode(escaped.charCodeAt(0) & 0xff), 2)}`
}

function hex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0')
}

/** C0 except tab and new line, DEL, C1, and the characters that change the direction of text (Unicode, UAX #9). */
const COMMANDS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Bytes of a name as `textOfBytes` decodes them. With the flag, surrogates match only if they are not part of a pair. */
const ESCAPED_BYTES = /[\udc80-\udcff]/gu

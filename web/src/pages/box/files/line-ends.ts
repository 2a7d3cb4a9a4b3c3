/** How the lines of a text end. The editor of a page only knows line feeds, and loses `mixed`. */
export type LineEnds = 'lf' | 'crlf' | 'mixed'

/** Returns how the lines of a text end. */
export function lineEndsOf(text: string): LineEnds {
  if (!text.includes('\r')) return 'lf'
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? 'mixed' : 'crlf'
}

/** Returns the text of an editor with the line ends that the file has. */
export function withLineEnds(text: string, ends: LineEnds): string {
  const plain = text.replaceAll('\r\n', '\n')
  return ends === 'crlf' ? plain.replaceAll('\n', '\r\n') : plain
}

/** Returns the line numbers of a text, one a line. */
export function lineNumbers(text: string): string {
  const count = text.split('\n').length
  return Array.from({ length: count }, (_, index) => index + 1).join('\n')
}

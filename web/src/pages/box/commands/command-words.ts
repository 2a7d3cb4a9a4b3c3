/**
 * Returns the words of a command line, with a shell's quotes and backslashes, and no other shell syntax. @throws Error for an open quote
 */
export function splitCommand(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (quote === "'" && char !== quote) word = (word ?? '') + char
    else if (char === '\\' && at + 1 < line.length) word = (word ?? '') + line.charAt(++at)
    else if (quote !== '' && char !== quote) word = (word ?? '') + char
    else if (char === "'" || char === '"') {
      quote = quote === '' ? char : ''
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote !== '') throw new Error(`Missing closing quote (${quote}).`)
  return word === null ? words : [...words, word]
}

/** Returns a line whose words are the words of a command. */
export function joinCommand(command: readonly string[]): string {
  const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)
  return command.map(quoted).join(' ')
}

/** Returns the display text of a command. For a command that a shell runs this is the line. */
export function commandText(command: readonly string[]): string {
  const [program, flag, line] = command
  const isShell = command.length === 3 && program === '/bin/sh' && flag === '-c'
  return isShell && line !== undefined ? line : joinCommand(command)
}

const PLAIN = /^[\w@%+=:,./-]+$/

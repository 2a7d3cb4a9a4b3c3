/** Words after the host on a command line of ssh. */
export interface SshWords {
  options: string[]
  command: string[]
}

/**
 * Splits the options after the host from the command, as ssh(1) does. Options end at the first other word, or at `--`. The caller then can
 * put the options before the host, with `--` before the host. A pure function.
 */
export function splitSshWords(words: readonly string[]): SshWords {
  let at = 0
  while (at < words.length) {
    const word = words[at] ?? ''
    if (word === '--') return { options: words.slice(0, at), command: words.slice(at + 1) }
    if (word === '-' || !word.startsWith('-')) break
    at += takesNext(word) ? 2 : 1
  }
  return { options: words.slice(0, at), command: words.slice(at) }
}

/** Returns whether a group of option letters ends with an option whose value is the next word. */
function takesNext(word: string): boolean {
  const letters = [...word.slice(1)]
  const valued = letters.findIndex((letter) => VALUED.has(letter))
  return valued >= 0 && valued === letters.length - 1
}

/** Options of ssh(1) that have a value. */
const VALUED: ReadonlySet<string> = new Set('BbcDEeFIiJLlmOoPpQRSWw')

import { TOPICS } from './groups.ts'

/**
 * Other names for commands, which users know from elsewhere or from earlier versions, and the names that they map to. They work wherever
 * the command does. The help lists only the command.
 */
export const ALIASES: Readonly<Record<string, string>> = {
  delete: 'rm',
  diff: 'snapshot diff',
  inspect: 'info',
  list: 'ls',
  restore: 'snapshot restore',
  shell: 'console',
  snapshots: 'snapshot',
  start: 'resume',
  whoami: 'me',
}
/** The same for the second word of a command, and for a third. */
const SECOND_ALIASES: Readonly<Record<string, string>> = { delete: 'rm', inspect: 'info', list: 'ls' }

/** Replaces aliases in a command line with the words of their commands. A pure function. */
export function withoutAliases(args: readonly string[]): string[] {
  const first = wordAt(args, 0)
  if (first === null) return [...args]
  const words = replaceAt(args, first, ALIASES)
  if (!Object.hasOwn(TOPICS, words[first] ?? '')) return words
  if (words[first] === 'snapshot') return inSnapshots(words, first, args[first])
  const second = wordAt(words, first + 1)
  if (second === null) return words
  const named = replaceAt(words, second, words[first] === 'volume' ? OF_VOLUME : SECOND_ALIASES)
  return words[first] === 'volume' && named[second] === 'snapshot' ? inSnapshots(named, second, words[second]) : named
}

/** Reads `snapshot BOX [NAME]` of earlier versions as `snapshot create BOX [NAME]`, except if the user `typed` `snapshots`. */
function inSnapshots(words: readonly string[], group: number, typed: string | undefined): string[] {
  const next = wordAt(words, group + 1)
  const rest = words.slice(group + 1)
  if (next !== null && SNAPSHOT_WORDS.has(words[next] ?? '')) return replaceAt(words, next, SECOND_ALIASES)
  const isOld = typed === 'snapshot' && !rest.every((word) => HELP.has(word))
  return isOld ? words.toSpliced(group + 1, 0, 'create') : [...words]
}

/** Returns the index of the next word after global flags, or null after other flags. */
function wordAt(args: readonly string[], from: number): number | null {
  for (let at = from; at < args.length; at++) {
    const text = args[at] ?? ''
    if (VALUED_FLAGS.has(text)) at++
    else if (JOINED_FLAG.test(text)) continue
    else return text.startsWith('-') ? null : at
  }
  return null
}

function replaceAt(words: readonly string[], at: number, aliases: Readonly<Record<string, string>>): string[] {
  const word = words[at] ?? ''
  const found = Object.hasOwn(aliases, word) ? aliases[word] : undefined
  return found === undefined ? [...words] : words.toSpliced(at, 1, ...found.split(' '))
}

const OF_VOLUME = { ...SECOND_ALIASES, restore: 'snapshot restore', snapshots: 'snapshot' }
/** Words after `snapshot`. Any other word is the box or volume of an earlier version's command line. */
const SNAPSHOT_WORDS: ReadonlySet<string> = new Set([
  'create',
  'ls',
  'info',
  'rm',
  'restore',
  'diff',
  ...Object.keys(SECOND_ALIASES),
])
const HELP: ReadonlySet<string> = new Set(['--help', '-h'])
/** Such a flag with its value, such as `--project=demo` and `-pdemo`. */
const JOINED_FLAG = /^(--(context|project|output)=|-[po].)/
/** Flags of every command that have a value. */
export const VALUED_FLAGS: ReadonlySet<string> = new Set(['--context', '-p', '--project', '-o', '--output'])

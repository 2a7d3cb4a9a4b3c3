import { withoutAliases } from '../verbs/aliases.ts'
import type { Verb } from '../verbs/verb.ts'

/** Candidates for the next word: literal words, or the names of resources. */
export type Next =
  | { kind: 'words'; words: readonly string[] }
  /** `of` is the word for the box or volume that these snapshots, services, … belong to. */
  | { kind: Named; of: string | null }

/** Kinds of resources whose names come from the service, or from the contexts on this machine. */
export type Named =
  | 'box'
  | 'boxPath'
  | 'volume'
  | 'base'
  | 'snapshot'
  | 'volumeSnapshot'
  | 'service'
  | 'session'
  | 'exec'
  | 'project'
  | 'context'

type Told = Pick<Verb, 'words' | 'args' | 'flags'>

/**
 * Returns the candidates for the last word of a command line, which the user is typing. Returns null for a file and if there are no
 * candidates. A pure function.
 */
export function whatIsNext(typed: readonly string[], verbs: readonly Told[]): Next | null {
  const [before, current] = [withoutAliases(typed.slice(0, -1)), typed.at(-1) ?? '']
  const { words, flag } = positionalsOf(before, verbs)
  const verb = verbOf(words, verbs)
  if (flag !== null) return valueOf(flag, verb)
  if (verb === null) {
    if (current.startsWith('-')) return { kind: 'words', words: longFlags(GLOBAL) }
    const depth = words.length
    const nexts = verbs
      .map((each) => each.words.split(' '))
      .filter((each) => words.every((word, i) => each[i] === word))
    return { kind: 'words', words: [...new Set(nexts.flatMap((each) => each[depth] ?? []))] }
  }
  if (current.startsWith('-'))
    return { kind: 'words', words: longFlags([...verb.flags.map(([each]) => each), ...GLOBAL]) }
  return argumentNext(verb, words.slice(verb.words.split(' ').length))
}

/** Returns the words that are no flags and no values of flags, and the flag that waits for its value. */
function positionalsOf(before: readonly string[], verbs: readonly Told[]): { words: string[]; flag: string | null } {
  const words: string[] = []
  let flag: string | null = null
  for (const text of before) {
    if (flag !== null) flag = null
    else if (!text.startsWith('-')) words.push(text)
    else flag = flagOf(text, [...(verbOf(words, verbs)?.flags.map(([each]) => each) ?? []), ...GLOBAL])
  }
  return { words, flag }
}

/** Returns the full flag if it waits for a value. */
function flagOf(text: string, flags: readonly string[]): string | null {
  return flags.find((each) => each.includes('<') && each.split(/[ ,]+/).includes(text)) ?? null
}

function verbOf(words: readonly string[], verbs: readonly Told[]): Told | null {
  const isOf = (verb: Told): boolean => verb.words.split(' ').every((word, i) => words[i] === word)
  return verbs.filter(isOf).sort((one, other) => other.words.length - one.words.length)[0] ?? null
}

function valueOf(flag: string, verb: Told | null): Next | null {
  const what = /<([a-z]+)/.exec(flag)?.[1] ?? ''
  if (what === 'format') return { kind: 'words', words: ['table', 'json', 'yaml', 'name'] }
  if (what === 'snapshot' && verb?.words.startsWith('base') === true) return null
  return NAMED.has(what) ? { kind: what as Named, of: null } : null
}

function argumentNext(verb: Told, given: readonly string[]): Next | null {
  const shape = verb.args.match(/[^\s<>[\]]+/g) ?? []
  const last = shape.at(-1) ?? ''
  const what = (shape[given.length] ?? (last.endsWith('...') ? last : '')).replace('...', '')
  if (NEW_NAMES[verb.words] === given.length) return null
  if (what === 'source' || what === 'box') return { kind: 'box', of: null }
  if (PATHS.has(what) || verb.words === 'cp') return { kind: 'boxPath', of: null }
  if (what === 'snapshot' || what === 'to')
    return { kind: shape[0] === 'volume' ? 'volumeSnapshot' : 'snapshot', of: given[0] ?? null }
  if (what === 'service|command') return { kind: 'service', of: given[0] ?? null }
  if (what === 'shell') return { kind: 'words', words: ['bash', 'zsh', 'fish'] }
  return NAMED.has(what) ? { kind: what as Named, of: given[0] ?? null } : null
}

function longFlags(flags: readonly string[]): string[] {
  return flags.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? [])
}

const GLOBAL = ['--context <context>', '-p, --project <project>', '-o, --output <format>', '--help']
/** Names of arguments and values that name a resource. */
const NAMED: ReadonlySet<string> = new Set([
  'box',
  'volume',
  'base',
  'snapshot',
  'service',
  'session',
  'exec',
  'project',
  'context',
])
const PATHS: ReadonlySet<string> = new Set(['box:path', 'box:dir'])
/** Index of the argument of a command that is a new name. */
const NEW_NAMES: Readonly<Record<string, number>> = {
  ...{ create: 0, fork: 1, 'snapshot create': 1, 'volume create': 0, 'volume snapshot create': 1 },
  ...{ 'base create': 0, 'token create': 0 },
}

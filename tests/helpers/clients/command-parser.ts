import { Command } from 'commander'
import { HOST_WORDS } from '../../../cli/host-words.ts'
import { addVerb } from '../../../cli/verb-commands.ts'
import { withoutAliases } from '../../../cli/verbs/aliases.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'
import type { VerbContext } from '../../../cli/verbs/verb.ts'

/** Returns the arguments of each call of the command line in a shell line. Stops at syntax that the shell interprets. */
export function callsIn(line: string): string[][] {
  const starts = [...line.matchAll(/(?<![\w./-]|-n )boxyard (?=[a-z-])/g)].map(
    ({ index, 0: { length } }) => index + length,
  )
  return starts.map((start) => wordsOf(line.slice(start)))
}

/** Parses a call like the command line, without running it. Returns the error message, or null for a valid call. */
export async function complaintOf(args: readonly string[]): Promise<string | null> {
  if (HOST_WORDS.has(args[0] ?? '')) return null
  let complaint = ''
  const program = new Command('boxyard')
    .enablePositionalOptions()
    .option('--context <name>')
    .option('-p, --project <project>')
    .option('-o, --output <format>')
    .exitOverride()
    .configureOutput({ writeErr: (text) => (complaint += text), outputError: () => undefined })
  let isParsed = false
  for (const verb of allVerbs())
    addVerb(program, verb, async (_flags, argsOf) => {
      await argsOf(NOWHERE)
      isParsed = true
    })
  try {
    await program.parseAsync(['node', 'boxyard', ...withoutAliases(args)])
  } catch (error) {
    return String(error)
  }
  return isParsed ? null : complaint || 'it names no command'
}

/** Box names are accepted unchecked, so parsing asks no service. */
const NOWHERE = { connection: { box: null } } as unknown as VerbContext

/** A value that the shell expands. */
const EXPANSION = /\$\([^)]*\)|\$\{[^}]*\}|\$\w+/g

function wordsOf(text: string): string[] {
  const [own = ''] = /^(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^|<>;&)'"#])*/.exec(text) ?? []
  const words = own.match(/(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"])+/g) ?? []
  // A number before `>` is a file descriptor.
  const last = text[own.length] === '>' && /^\d$/.test(words.at(-1) ?? '') && !/\s$/.test(own) ? -1 : words.length
  return words.slice(0, last).map((word) => word.replaceAll(/['"]/g, '').replaceAll(EXPANSION, 'x'))
}

import { Command } from 'commander'
import { HOST_WORDS } from '../../../cli/host-words.ts'
import { addVerb } from '../../../cli/verb-commands.ts'
import { withoutAliases } from '../../../cli/verbs/aliases.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'
import type { VerbContext } from '../../../cli/verbs/verb.ts'

/** Returns the arguments of each call of the command line in a line of a shell, up to what the shell takes for itself. */
export function callsIn(line: string): string[][] {
  const starts = [...line.matchAll(/(?<![\w./-]|-n )boxyard (?=[a-z-])/g)].map(
    ({ index, 0: { length } }) => index + length,
  )
  return starts.map((start) => wordsOf(line.slice(start)))
}

/** Parses a call as the command line does, without running it. Returns its complaint, or null for a valid call. */
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

/** Names of boxes are taken as they come, so no service is asked. */
const NOWHERE = { connection: { box: null } } as unknown as VerbContext

/** A shell puts a value here. */
const EXPANSION = /\$\([^)]*\)|\$\{[^}]*\}|\$\w+/g

function wordsOf(text: string): string[] {
  const [own = ''] = /^(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^|<>;&)'"#])*/.exec(text) ?? []
  const words = own.match(/(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"])+/g) ?? []
  // A number in front of `>` is a descriptor.
  const last = text[own.length] === '>' && /^\d$/.test(words.at(-1) ?? '') && !/\s$/.test(own) ? -1 : words.length
  return words.slice(0, last).map((word) => word.replaceAll(/['"]/g, '').replaceAll(EXPANSION, 'x'))
}

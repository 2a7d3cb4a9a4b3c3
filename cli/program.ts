import { Argument, Command, CommanderError, Option } from 'commander'
import { ApiError } from '../sdk/typescript/src/api-error.ts'
import { createCommandContext } from './context/command-context.ts'
import { withValues } from './context/environment-flags.ts'
import { HOST_WORDS } from './host-words.ts'
import { type FailureWords, reportFailure, UsageError } from './output/failures.ts'
import { InterruptError } from './output/interrupts.ts'
import { parseErrorText } from './output/parse-errors.ts'
import { printLine, reportLine } from './output/terminal.ts'
import { addVerb, FORMATS } from './verb-commands.ts'
import { VALUED_FLAGS, withoutAliases } from './verbs/aliases.ts'
import { findVerbs } from './verbs/find.ts'
import type { Verb, VerbFlags } from './verbs/verb.ts'

/** Runs the command that `args` name, and returns the exit code of `runCommandLine`. */
export async function runProgram(args: readonly string[], version: string): Promise<number> {
  let exitCode = 0
  let running: { verb: Verb; flags: VerbFlags } | null = null
  const program = createProgram(version)
  try {
    const words = await understood(args)
    const word = verbOf(words)
    const named = await findVerbs(word)
    const isAll = named.length === 0 && word !== COMPLETION_WORD
    // Only help needs the others.
    for (const verb of isAll ? await verbsOfHelp() : named) {
      const command = addVerb(program, verb, async (flags, argsOf) => {
        running = { verb, flags }
        const context = createCommandContext(flags, verb)
        const { env } = flags
        const given = Array.isArray(env) ? { ...flags, env: withValues(env.map(String), context.environment) } : flags
        await context.findProject()
        exitCode = (await verb.run(context, await argsOf(context), given)) ?? 0
      })
      command.configureOutput({ outputError: (text) => reportLine(parseErrorText(text, verb)) })
    }
    if (isAll) await arrangeHelp(program)
    if (isAll || word === COMPLETION_WORD) addCompletion(program)
    await program.parseAsync(['node', 'boxyard', ...words])
    return exitCode
  } catch (error) {
    // Commander has printed it. Help that the user asked for is not an error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof InterruptError) return error.exitCode
    return reportFailure(error, error instanceof ApiError && running !== null ? await wordsOf(running) : undefined)
  }
}

/** Returns the words of a command for errors of the API. */
async function wordsOf({ verb, flags }: { verb: Verb; flags: VerbFlags }): Promise<FailureWords> {
  const [{ faultLine, placeOf }, { inCommandWords }, { allVerbs }] = await Promise.all([
    import('./output/fault-places.ts'),
    import('./output/command-words.ts'),
    import('./verbs/all.ts'),
  ])
  return {
    ways: verb.ways ?? {},
    describe: (fault) => faultLine(fault, verb, flags),
    translate: (message) => inCommandWords(message, allVerbs(), (field) => placeOf(`/${field}`, verb, flags)),
  }
}

/** Returns the first word of the command that `args` name, or an empty text. */
export function verbOf(args: readonly string[]): string {
  return positionalsOf(args)[0] ?? ''
}

function createProgram(version: string): Command {
  return new Command('boxyard')
    .description('Create and manage Linux boxes: commands, files, volumes, snapshots and services')
    .version(version)
    .option('--context <name>', 'service to use, one of `boxyard context ls`')
    .option('-p, --project <project>', 'project to use')
    .addOption(new Option('-o, --output <format>', 'output format').choices(FORMATS).default('table'))
    .addHelpText('after', `\nOn a host that runs the service, also: boxyard ${[...HOST_WORDS.keys()].join('|')} --help`)
    .enablePositionalOptions()
    .addHelpText('after', HELP)
    .helpCommand(false)
    .configureOutput({ outputError: (text) => reportLine(parseErrorText(text, null)) })
    .showHelpAfterError('(boxyard --help lists all commands)')
    .exitOverride()
}

/**
 * Reads `help COMMAND` as `COMMAND --help`, and an empty command line as `--help`. Reduces an unknown command to its first word, so that
 * the error names it. @throws UsageError for the name of a command in other command lines
 */
async function understood(args: readonly string[]): Promise<readonly string[]> {
  const typed = args[0] === 'help' ? [...args.slice(1), '--help'] : args.length === 0 ? ['--help'] : args
  const words = withoutAliases(typed)
  const [word, second] = positionalsOf(words)
  if (word === undefined || word === COMPLETION_WORD) return words
  const known = (await findVerbs(word)).map((verb) => verb.words.split(' ')[1])
  // Same as help for a word that needs a second one.
  if (known.length > 0 && second === undefined && !known.includes(undefined)) return [...words, '--help']
  if (known.length > 0 && (second === undefined || known.includes(second) || known.includes(undefined))) return words
  const { wordHere } = await import('./verbs/words-elsewhere.ts')
  const whole = second === undefined ? null : wordHere(`${word} ${second}`)
  if (whole !== null) throw new UsageError(`There is no command "${word} ${second}". Did you mean ${whole}?`)
  const here = wordHere(known.length === 0 ? word : (second ?? ''))
  if (here !== null && known.length === 0) throw new UsageError(`There is no command "${word}". Did you mean ${here}?`)
  if (here !== null && known.includes(here))
    throw new UsageError(`There is no command "${word} ${second}". Did you mean ${word} ${here}?`)
  return known.length === 0 ? [word] : words
}

async function verbsOfHelp(): Promise<Verb[]> {
  const [{ allVerbs }, { byHelp }] = await Promise.all([import('./verbs/all.ts'), import('./verbs/groups.ts')])
  return allVerbs().sort(byHelp)
}

/** Assigns each command to its group of the help. */
async function arrangeHelp(program: Command): Promise<void> {
  const { groupOf } = await import('./verbs/groups.ts')
  for (const command of program.commands) command.helpGroup(`${groupOf(command.name())}:`)
  // The command itself describes its arguments and flags.
  program.configureHelp({ subcommandTerm: (command) => command.name() })
}

function addCompletion(program: Command): void {
  program
    .command(COMPLETION_WORD)
    .argument('<shell>', 'bash, zsh or fish')
    // Input from the shell's completion: `words -- TYPED...`.
    .addArgument(new Argument('[typed...]').default([], ''))
    .usage('<shell>')
    .description('Print the completion script for a shell')
    .helpGroup('The command line itself:')
    .action(async (shell: string, typed: string[]) => {
      const { completionScript } = await import('./completion/scripts.ts')
      if (shell !== 'words') return void printLine(completionScript(shell).trimEnd())
      const { nextWords } = await import('./completion/lookups.ts')
      for (const word of await nextWords(typed, process.env)) printLine(word)
    })
}

/** Returns the arguments that are neither flags nor values of flags. The first one is the command. */
function positionalsOf(args: readonly string[]): string[] {
  return args.filter((arg, i) => !arg.startsWith('-') && !VALUED_FLAGS.has(args[i - 1] ?? ''))
}

const HELP = `
A .boxyard file sets defaults for its directory and all directories below it:
  project = "demo"
  box = "web"

Then "." means that box in any command: boxyard exec . ls, or boxyard cp a.txt .:/srv/
Flags override variables, and variables override the file. The variables are BOXYARD_PROJECT, BOXYARD_BOX,
BOXYARD_CONTEXT, and BOXYARD_URL with BOXYARD_TOKEN.
Boxyard ignores files that another user owns. Commands report on stderr what they take from a file.`

const COMPLETION_WORD = 'completion'

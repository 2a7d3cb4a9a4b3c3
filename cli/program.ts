import { Command, CommanderError, Option } from 'commander'
import { createBoxyard } from '../sdk/typescript/src/boxyard.ts'
import { type ConnectionFlags, findConnection } from './context/connection.ts'
import { withDefaultBox } from './context/default-box.ts'
import { HOST_WORDS } from './host-words.ts'
import { reportFailure, UsageError } from './output/failures.ts'
import type { OutputFormat } from './output/printing.ts'
import { findVerbs } from './verbs/find.ts'
import type { Verb, VerbContext, VerbFlags } from './verbs/verb.ts'

/** Runs the verb that `args` name, and returns the exit code of `runCommandLine`. */
export async function runProgram(args: readonly string[], version: string): Promise<number> {
  let exitCode = 0
  const program = new Command('boxyard')
    .description('The command line of Boxyard: boxes, their commands, files, volumes and services')
    .version(version)
    .option('--context <name>', 'the service to use, of `boxyard context ls`')
    .option('-p, --project <project>', 'the project')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(FORMATS).default('table'))
    .addHelpText('after', `\nOn the host of a service also, of its own: boxyard ${[...HOST_WORDS].join('|')} --help`)
    .enablePositionalOptions()
    .addHelpText('after', HELP)
    .exitOverride()
  const named = await findVerbs(firstWordOf(args) ?? '')
  // All others are only needed to tell of them.
  for (const verb of named.length > 0 ? named : await loadAllVerbs()) {
    addVerb(program, verb, async (context, given, flags) => {
      exitCode = (await verb.run(context, given, flags)) ?? 0
    })
  }
  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('Print the completion of a shell')
    .action(async (shell: string) => {
      const { completionScript } = await import('./output/completion.ts')
      const words = (await loadAllVerbs()).map((verb) => verb.words)
      process.stdout.write(completionScript(shell, words))
    })
  try {
    await program.parseAsync(['node', 'boxyard', ...args])
    return exitCode
  } catch (error) {
    // Commander has printed it; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 || args.length === 0 ? 0 : 2
    return reportFailure(error, (text) => void process.stderr.write(text))
  }
}

async function loadAllVerbs(): Promise<Verb[]> {
  return (await import('./verbs/all.ts')).allVerbs()
}

/** Returns the first argument that is neither a flag nor the value of one: the first word of a verb. */
function firstWordOf(args: readonly string[]): string | undefined {
  return args.find((arg, i) => !arg.startsWith('-') && !VALUED_FLAGS.has(args[i - 1] ?? ''))
}

type Run = (context: VerbContext, args: string[], flags: VerbFlags) => Promise<void>

function addVerb(program: Command, verb: Verb, run: Run): void {
  const [first = '', second] = verb.words.split(' ')
  const parent = second === undefined ? program : groupOf(program, first)
  const command = parent.command(`${second ?? first} ${verb.args}`.trim()).summary(verb.summary)
  command.description(verb.details === undefined ? verb.summary : `${verb.summary}\n\n${verb.details}`)
  for (const [flag, meaning] of verb.flags) addFlag(command, flag, meaning)
  // Everything behind the box is the command's own.
  if (verb.args.endsWith(' <command...>') || verb.args.endsWith('[command...]')) command.passThroughOptions()
  for (const option of GLOBAL_FLAGS) command.addOption(option())
  command.addHelpText('after', `\nExamples:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`)
  command.exitOverride()
  command.action(async (...given: unknown[]) => {
    // A flag behind the verb wins over one before it.
    const flags: VerbFlags & ConnectionFlags & { output: OutputFormat } = { ...program.opts(), ...command.opts() }
    const args = given
      .slice(0, -2)
      .flat()
      .filter((each): each is string => typeof each === 'string')
    const context = contextOf(flags)
    await run(context, withDefaultBox(verb.args, withCommand(verb.args, args), context.connection.box), flags)
  })
}

/**
 * Takes away a `--` in front of the command of a verb, as of `kubectl exec`.
 * @throws UsageError for a flag there without it, which would be run as a program
 */
function withCommand(shape: string, args: string[]): string[] {
  const at = shape.split(' ').findIndex((word) => /^[<[]command\.\.\./.test(word))
  const first = args[at]
  if (at < 0 || first === undefined || !first.startsWith('-')) return args
  if (first !== '--')
    throw new UsageError(`Flags such as ${first} stand before the box. A command so called: -- ${first}`)
  return args.toSpliced(at, 1)
}

// One value each time, repeated: a flag that takes all that follows would take the arguments of the verb, too.
function addFlag(command: Command, flag: string, meaning: string): void {
  if (!flag.endsWith('...>')) return void command.option(flag, meaning)
  const hasCommas = flag.endsWith(',...>')
  const valuesOf = (text: string): string[] => (hasCommas ? text.split(',') : [text])
  const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), ...valuesOf(text)]
  const plain = flag.replace(hasCommas ? ',...>' : '...>', '>')
  const told = hasCommas ? 'repeatable, or with commas' : 'repeatable'
  command.addOption(new Option(plain, `${meaning}; ${told}`).argParser(collect))
}

function groupOf(program: Command, name: string): Command {
  const found = program.commands.find((each) => each.name() === name)
  if (found !== undefined) return found
  return program.command(name).description(`${name} …`).exitOverride()
}

function contextOf(flags: ConnectionFlags & { output: OutputFormat }): VerbContext {
  const connection = findConnection(flags, process.env, process.cwd())
  return {
    connection,
    environment: process.env,
    format: flags.output,
    boxyard: createBoxyard({ url: connection.url, token: connection.token }),
    project: () => {
      if (connection.project === null) throw new UsageError('No project: boxyard use PROJECT, or --project PROJECT.')
      return connection.project
    },
    tell: (text) => {
      if (process.stderr.isTTY) process.stderr.write(`${text}\n`)
    },
  }
}

const HELP = `
A directory may have a file .boxyard, for itself and those below:
  project = "demo"
  box = "web"
Then . stands for that box where a command takes one: boxyard exec . ls; boxyard cp a.txt .:/srv/
BOXYARD_URL, BOXYARD_TOKEN, BOXYARD_PROJECT, BOXYARD_BOX and BOXYARD_CONTEXT win over the file, flags over all.`

const VALUED_FLAGS: ReadonlySet<string> = new Set(['--context', '-p', '--project', '-o', '--output'])
const FORMATS = ['table', 'json', 'yaml', 'name']
/** The flags of all verbs, taken behind the verb, too. */
const GLOBAL_FLAGS = [
  () => new Option('--context <name>').hideHelp(),
  () => new Option('-p, --project <project>').hideHelp(),
  () => new Option('-o, --output <format>').choices(FORMATS).hideHelp(),
]

import { type Command, Option } from 'commander'
import type { CommandFlags } from './context/command-context.ts'
import { namesBox, withDefaultBox } from './context/default-box.ts'
import { checkBoxName } from './context/names.ts'
import { UsageError } from './output/failures.ts'
import { TOPICS } from './verbs/groups.ts'
import type { Verb, VerbContext, VerbFlags } from './verbs/verb.ts'

/** The flags of a command line, including the flags of all commands. */
type GivenFlags = VerbFlags & CommandFlags

/** Runs a command with its flags, and a function that resolves its arguments from the typed ones. */
type Run = (flags: GivenFlags, argsOf: (context: VerbContext) => Promise<string[]>) => Promise<void>

/** Adds a command to the program, and returns it. */
export function addVerb(program: Command, verb: Verb, run: Run): Command {
  const words = verb.words.split(' ')
  const parent = words.slice(0, -1).reduce(groupIn, program)
  const command = parent.command(`${words.at(-1)} ${verb.args}`.trim()).summary(verb.summary)
  command.description(verb.details === undefined ? verb.summary : `${verb.summary}\n\n${verb.details}`)
  for (const [flag, meaning] of verb.flags) addFlag(command, flag, meaning)
  // Everything after the box belongs to the command in it.
  if (/ (<command|\[command|\[arguments)\.\.\.[>\]]$/.test(verb.args)) command.passThroughOptions()
  for (const option of GLOBAL_FLAGS) command.addOption(option())
  command.addHelpText('after', `\nExamples:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`)
  command.showHelpAfterError(`(see boxyard ${verb.words} --help)`)
  command.exitOverride()
  command.action(async (...given: unknown[]) => {
    // A flag after the command takes precedence over one before it.
    const flags = flagsOf(command) as GivenFlags
    const args = given
      .slice(0, -2)
      .flat()
      .filter((each): each is string => typeof each === 'string')
    await run(flags, async (context) => {
      const typed = withCommand(verb.args, args)
      checkNotEmpty(verb.args, typed)
      const own = withDefaultBox(verb.args, typed, () => context.connection.box)
      if (typeof flags['box'] === 'string')
        [flags['box']] = await withBoxNames('<box>', [checkBoxName(flags['box'], '--box')], context)
      return withBoxNames(verb.args, own, context)
    })
  })
  return command
}

/** Replaces ids of boxes with their names. */
async function withBoxNames(shape: string, args: string[], context: VerbContext): Promise<string[]> {
  if (!args.some((text) => text.startsWith('box_'))) return args
  const { boxyard, project } = context
  const { hasBoxId, withBoxName } = await import('./context/box-names.ts')
  const named = async (text: string, i: number): Promise<string> =>
    namesBox(shape, i) && hasBoxId(text) ? withBoxName(boxyard, project(), text) : text
  return Promise.all(args.map(named))
}

/** @throws UsageError for an empty argument, except among the arguments of a program */
function checkNotEmpty(shape: string, args: readonly string[]): void {
  const words = shape.split(' ')
  const program = words.findIndex((word) => /^[<[]command\.\.\./.test(word))
  const own = words.findIndex((word) => word.startsWith('[arguments...'))
  const checked = program >= 0 ? program + 1 : own >= 0 ? own : args.length
  const empty = args.slice(0, checked).indexOf('')
  if (empty >= 0) throw new UsageError(`${(words[empty] ?? words.at(-1) ?? '').replace('...', '')}: must not be empty.`)
}

/**
 * Removes a `--` in front of the program to run, as `kubectl exec` does.
 * @throws UsageError for a flag there without it, which would run as a program
 */
function withCommand(shape: string, args: string[]): string[] {
  const at = shape.split(' ').findIndex((word) => /^[<[]command\.\.\./.test(word))
  const first = args[at]
  if (at < 0 || first === undefined || !first.startsWith('-')) return args
  if (first !== '--')
    throw new UsageError(`${first}: put flags before the box. To run a command with this name, write -- ${first}`)
  return args.toSpliced(at, 1)
}

// Takes one value each time, repeated. A flag that takes all following values would also take the arguments of the command.
function addFlag(command: Command, flag: string, meaning: string): void {
  if (!flag.endsWith('...>')) return void command.option(flag, meaning)
  const hasCommas = flag.endsWith(',...>')
  const valuesOf = (text: string): string[] => (hasCommas ? text.split(',') : [text])
  const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), ...valuesOf(text)]
  const plain = flag.replace(hasCommas ? ',...>' : '...>', '>')
  const told = hasCommas ? 'repeat it, or separate values with commas' : 'repeatable'
  command.addOption(new Option(plain, `${meaning}; ${told}`).argParser(collect))
}

function groupIn(parent: Command, name: string): Command {
  const found = parent.commands.find((each) => each.name() === name)
  if (found !== undefined) return found
  const words = [...pathOf(parent), name].join(' ')
  const group = parent
    .command(name)
    .description(TOPICS[words] ?? '')
    .helpCommand(false)
    .exitOverride()
  for (const option of GLOBAL_FLAGS) group.addOption(option())
  return group
}

/** Returns the flags of a command and of its parents. */
function flagsOf(command: Command): VerbFlags {
  return { ...(command.parent === null ? {} : flagsOf(command.parent)), ...command.opts() }
}

/** Returns the words of a command below the program. */
function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()]
}

/** Forms of answers. */
export const FORMATS = ['table', 'json', 'yaml', 'name']
/** The flags of all commands, also accepted after each word of the command. */
const GLOBAL_FLAGS = [
  () => new Option('--context <name>').hideHelp(),
  () => new Option('-p, --project <project>').hideHelp(),
  () => new Option('-o, --output <format>').choices(FORMATS).hideHelp(),
]

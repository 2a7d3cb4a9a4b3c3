import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { askYes, canAsk, reportCanceled } from '../output/asking.ts'
import { reportFailure, UsageError } from '../output/failures.ts'
import { reportLine } from '../output/terminal.ts'
import { tellIfSlow } from '../output/waiting.ts'
import { tagFilterOf } from './tag-filters.ts'
import type { Verb, VerbContext } from './verb.ts'

const remove: Verb = {
  words: 'rm',
  args: '[box...]',
  flags: [
    ['--tag <key=value...>', 'delete all boxes with these tags, KEY or KEY=VALUE'],
    ['-y, --yes', 'do not ask for confirmation'],
    ['-f, --force', 'do not ask, and ignore boxes that do not exist'],
  ],
  summary: 'Delete boxes and their snapshots. Data volumes stay',
  details: `On a terminal, rm asks before it deletes a box that runs or has snapshots, or boxes by --tag. It does not ask in scripts,
where stdin or stderr is not a terminal.`,
  examples: ['boxyard rm try', 'boxyard rm --tag job=4711 --yes', 'boxyard ls -o name | xargs boxyard rm'],
  operations: ['deleteBox', 'getBox', 'listBoxes', 'listBoxSnapshots'],
  run: async (context, given, flags) => {
    const tags = tagFilterOf(flags['tag'])
    if ((given.length === 0) === (tags === null)) throw new UsageError('Give either names of boxes or --tag KEY=VALUE.')
    const names = tags === null ? given : await namesWith(context, tags)
    if (names.length === 0) context.tell('No box has these tags.')
    const isSure = flags['yes'] === true || flags['force'] === true || !canAsk()
    if (!isSure && !(await isMeant(context, names, tags !== null))) return reportCanceled()
    return deleteAll(context, names, flags['force'] === true)
  },
}

/** The command that deletes boxes. */
export const REMOVE_VERBS: readonly Verb[] = [remove]

async function deleteAll(
  { boxyard, project, tell }: VerbContext,
  names: readonly string[],
  isForced: boolean,
): Promise<void> {
  const failures: Error[] = []
  const isExpected = (error: Error): boolean => isForced && error instanceof ApiError && error.code === 'box_not_found'
  for (const name of names) {
    const box = boxyard.box(project(), name)
    await tellIfSlow(tell, `Delete ${name}`, () => box.delete()).catch((error: Error) => {
      if (!isExpected(error)) failures.push(error)
    })
  }
  // The last failure becomes the error of the command.
  const last = failures.pop()
  for (const failure of failures) reportFailure(failure)
  if (last !== undefined) throw last
}

async function namesWith({ boxyard, project }: VerbContext, tags: readonly string[]): Promise<string[]> {
  const names: string[] = []
  const query = { tag: [...tags] }
  for await (const { name } of boxyard.list('listBoxes', { path: { project: project() }, query })) names.push(name)
  return names
}

/** Asks for confirmation to delete boxes in use: those that run or have snapshots, or all if they were `selected`. */
async function isMeant(context: VerbContext, names: readonly string[], selected: boolean): Promise<boolean> {
  const uses = await Promise.all(names.map((name) => useOf(context, name)))
  const remarks = names.flatMap((name, i) =>
    uses[i] ? [`${name} ${uses[i]}.`] : selected ? [`${name} is stopped.`] : [],
  )
  if (remarks.length === 0) return true
  for (const line of remarks) reportLine(line)
  return askYes(names.length === 1 ? `Delete ${names[0]}?` : `Delete ${names.length} boxes?`)
}

/** Describes what is lost with a box besides its disk. Returns null if that is nothing, or if the box does not exist. */
async function useOf({ boxyard, project }: VerbContext, name: string): Promise<string | null> {
  const path = { project: project(), name }
  const box = await boxyard.call('getBox', { path }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'box_not_found') return null
    throw error
  })
  if (box === null) return null
  const snapshots: string[] = []
  for await (const snapshot of boxyard.list('listBoxSnapshots', { path })) snapshots.push(snapshot.name)
  const { length } = snapshots
  const uses = [
    ...(box.status === 'stopped' ? [] : [`is ${box.status}`]),
    ...(length === 0 ? [] : [`has ${length} ${length === 1 ? 'snapshot' : 'snapshots'}`]),
  ]
  return uses.length === 0 ? null : uses.join(' and ')
}

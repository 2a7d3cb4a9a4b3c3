import type { OperationId } from '../../sdk/typescript/src/calls.ts'
import { askYes, canAsk } from '../output/asking.ts'
import type { VerbContext, VerbFlags } from './verb.ts'

/** The flag of commands that ask before they delete data for good. */
export const YES_FLAG = ['-y, --yes', 'do not ask for confirmation'] as const

/** Help text of these commands. */
export const CONFIRMATION =
  'On a terminal, the command asks before it deletes. It does not ask in scripts, where stdin or stderr is not a terminal.'

interface Deletion {
  /** The operation that reads the resource. */
  get: OperationId
  input: object
  /** The arguments as the help shows them, such as `<box> <snapshot>`. */
  args: string
  given: readonly string[]
}

/** Asks on a terminal whether to delete a resource. Returns true for `--yes` and in scripts. @throws ApiError if there is no such resource */
export async function isDeletionMeant(
  { boxyard }: VerbContext,
  { get, input, args, given }: Deletion,
  flags: VerbFlags,
): Promise<boolean> {
  if (flags['yes'] === true || !canAsk()) return true
  const read = boxyard.callFully as unknown as (id: OperationId, input: object) => Promise<unknown>
  await read(get, input)
  return askYes(deletionQuestion(args, given))
}

/** Writes the question, such as `Delete snapshot good of web? It cannot be restored.` A pure function. */
export function deletionQuestion(args: string, given: readonly string[]): string {
  const kind = args.match(/[a-z]+/g)?.at(-1) ?? ''
  const owner = given.length > 1 ? ` of ${given[0]}` : ''
  return `Delete ${kind} ${given.at(-1)}${owner}? It cannot be restored.`
}

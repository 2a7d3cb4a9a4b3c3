import { COMPLETION } from '../cli/output/completion.ts'
import { allVerbs } from '../cli/verbs/all.ts'
import type { Verb } from '../cli/verbs/verb.ts'
import { tagOf } from '../shared/openapi/texts.ts'
import { OPERATIONS } from '../shared/routes.ts'
import { tableOf } from './markdown.ts'

/** Returns the reference of all verbs of the command line, by group, as docs/cli.md has it. */
export function cliReference(): string {
  const byGroup = Map.groupBy<string, Told>([...allVerbs(), COMPLETION], groupOf)
  return GROUPS.map(([title]) => title)
    .filter((title) => byGroup.has(title))
    .map((title) => `### ${title}\n\n${(byGroup.get(title) ?? []).map(verbSection).join('\n\n')}`)
    .join('\n\n')
}

type Told = Omit<Verb, 'run'>

/** Returns the group of a verb: that of its first operation. @throws Error for an operation of no group */
function groupOf({ words, operations: [id] }: Told): string {
  if (id === undefined || OWN_VERBS.has(words)) return OWN_GROUP
  const operation = OPERATIONS.find((each) => each.id === id)
  const group = operation && GROUPS.find(([, tags]) => tags.includes(tagOf(operation)))
  if (!group) throw new Error(`"${words}" is in no group of the reference: ${id}`)
  return group[0]
}

function verbSection(verb: Told): string {
  const { words, args, flags, summary, details = '', examples, operations } = verb
  const links = operations.map((id) => `[\`${id}\`](api/operations.md#${id})`)
  const usage = [`boxyard ${words}`, flags.length > 0 ? '[flags]' : '', args].filter(Boolean).join(' ')
  // An example that only repeats the arguments tells nothing.
  const plain = `boxyard ${words} ${args.replaceAll(/[<>[\]]/g, '')}`.trimEnd()
  const told = examples.filter((example) => example !== plain)
  return [
    `#### boxyard ${words}`,
    `${summary}.${links.length > 0 ? ` By ${links.join(', ')}.` : ''}`,
    details,
    `\`${usage}\``,
    flags.length > 0
      ? tableOf(
          ['Flag', ''],
          flags.map(([flag, meaning]) => [`\`${flag}\``, meaning]),
        )
      : '',
    told.length > 0 ? `\`\`\`sh\n${told.join('\n')}\n\`\`\`` : '',
  ]
    .filter(Boolean)
    .join('\n\n')
}

const OWN_GROUP = 'The command line itself'
/** Groups in the order of the page, each with the tags of its operations (shared/openapi-texts.ts). */
const GROUPS: readonly (readonly [title: string, tags: readonly string[]])[] = [
  [OWN_GROUP, []],
  ['Boxes', ['boxes']],
  ['Commands, consoles and ports', ['exec', 'streams']],
  ['Files', ['files']],
  ['Services', ['services']],
  ['Data volumes and backups', ['data']],
  ['Bases', ['bases']],
  ['Events', ['events']],
  ['Tokens and quotas', ['tokens', 'quota']],
  ['The service', ['system']],
]
/** Verbs of the first group that ask the service all the same. */
const OWN_VERBS: ReadonlySet<string> = new Set(['login'])

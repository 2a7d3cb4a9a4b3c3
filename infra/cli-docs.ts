import { COMPLETION } from '../cli/completion/scripts.ts'
import { allVerbs } from '../cli/verbs/all.ts'
import { GROUPS, groupOf } from '../cli/verbs/groups.ts'
import type { Verb } from '../cli/verbs/verb.ts'
import { tableOf } from './markdown.ts'

/** Returns the reference of all commands of the command line, by group, for docs/cli.md. */
export function cliReference(): string {
  const byGroup = Map.groupBy<string, Told>([...allVerbs(), COMPLETION], ({ words }) => groupOf(words))
  return GROUPS.map(([title]) => title)
    .map((title) => `### ${title}\n\n${(byGroup.get(title) ?? []).map(verbSection).join('\n\n')}`)
    .join('\n\n')
}

type Told = Omit<Verb, 'run'>

function verbSection(verb: Told): string {
  const { words, args, flags, summary, details = '', examples, operations } = verb
  const links = operations.map((id) => `[\`${id}\`](api/operations.md#${id})`)
  const usage = [`boxyard ${words}`, flags.length > 0 ? '[flags]' : '', args].filter(Boolean).join(' ')
  // An example that only repeats the arguments adds nothing.
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

import type { Service } from '../../../api/records.ts'
import { joinCommand } from '../commands/command-words.ts'

/** Returns what a stop of a service ends, version by version. */
export function stopWords({ active, preview }: Service): string {
  const ended = [
    ...(active === null ? [] : [`what is active (${commandOf(active)})`]),
    ...(preview === null ? [] : [`the preview (${commandOf(preview)}), which is discarded`]),
  ]
  const what = ended.length === 0 ? 'Nothing of it runs yet. ' : `This ends ${ended.join(', and ')}. `
  return `${what}It stays stopped, also when the box is started again, until it is started.`
}

/** Returns what is ended when the preview of a service is discarded, and what is not. */
export function discardWords({ active, preview }: Service): string {
  const what = preview === null ? '' : `This ends the version that was deployed beside it (${commandOf(preview)}). `
  const rest = active === null ? '' : `What is active goes on (${commandOf(active)}). `
  return `${what}${rest}To have it back it is deployed again.`
}

/** Returns what is ended when the version before takes over again. */
export function previousWords({ previous }: Service): string {
  return previous === null ? '' : `Has ${commandOf(previous)} serve again`
}

function commandOf({ spec }: Pick<NonNullable<Service['active']>, 'spec'>): string {
  const text = joinCommand(spec.command).replaceAll(/\s+/g, ' ')
  return text.length > COMMAND_MAX ? `${text.slice(0, COMMAND_MAX)}…` : text
}

const COMMAND_MAX = 120

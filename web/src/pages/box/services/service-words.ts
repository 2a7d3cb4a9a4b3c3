import type { Service } from '../../../api/records.ts'
import { joinCommand } from '../commands/command-words.ts'

/** Returns the processes that stopping a service ends, version by version. */
export function stopWords({ active, preview }: Service): string {
  const ended = [
    ...(active === null ? [] : [`the active version (${commandOf(active)})`]),
    ...(preview === null ? [] : [`the preview (${commandOf(preview)})`]),
  ]
  const what = ended.length === 0 ? 'It does not run yet. ' : `This ends ${ended.join(' and ')}. `
  return `${what}The service stays stopped until you start it, even if the box restarts.`
}

/** Returns what discarding a service's preview ends, and what it keeps. */
export function discardWords({ active, preview }: Service): string {
  const what = preview === null ? '' : `This ends the preview (${commandOf(preview)}). `
  const rest = active === null ? '' : `The active version keeps running (${commandOf(active)}). `
  return `${what}${rest}To get it back, deploy it again.`
}

/** Returns what a rollback to the previous version ends. */
export function previousWords({ previous }: Service): string {
  return previous === null ? '' : `Switches back to ${commandOf(previous)}`
}

function commandOf({ spec }: Pick<NonNullable<Service['active']>, 'spec'>): string {
  const text = joinCommand(spec.command).replaceAll(/\s+/g, ' ')
  return text.length > COMMAND_MAX ? `${text.slice(0, COMMAND_MAX)}…` : text
}

const COMMAND_MAX = 120

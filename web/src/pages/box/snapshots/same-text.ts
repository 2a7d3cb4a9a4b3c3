import type { FileEntry } from '../../../api/records.ts'
import { timeText } from '../../../ui/words.ts'

type Facts = Pick<FileEntry, 'mode' | 'uid' | 'gid' | 'modified_at'>

/** Returns the differences between two forms of a file with the same text. */
export function sameTextWords(before: Facts, after: Facts): string {
  const owners = [before, after].map(({ uid, gid }) => `${uid}:${gid}`) as [string, string]
  const times = [timeText(before.modified_at), timeText(after.modified_at)] as const
  const differences = [
    ...(before.mode === after.mode ? [] : [`the permissions, from ${before.mode} to ${after.mode}`]),
    ...(owners[0] === owners[1] ? [] : [`the owner, from ${owners[0]} to ${owners[1]}`]),
    ...(before.modified_at === after.modified_at
      ? []
      : [times[0] === times[1] ? 'the modification time' : `the modification time, from ${times.join(' to ')}`]),
  ]
  if (differences.length === 0)
    return 'Permissions, owner and time are the same too. It was rewritten, or its attributes changed.'
  return `The text is equal. These differ: ${differences.join(', ')}.`
}

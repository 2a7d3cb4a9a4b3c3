import type { Volume } from '../../api/records.ts'

/** Units of an interval, largest first. */
export const UNITS = [
  { name: 'days', seconds: 86_400 },
  { name: 'hours', seconds: 3_600 },
  { name: 'minutes', seconds: 60 },
] as const

/** Returns an interval in the largest unit that it is a whole number of. */
export function intervalOf(seconds: number): { count: number; unit: (typeof UNITS)[number] } {
  const unit = UNITS.find((each) => seconds % each.seconds === 0) ?? UNITS[2]
  return { count: seconds / unit.seconds, unit }
}

/** Describes a schedule in one sentence. */
export function scheduleText(schedule: NonNullable<Volume['backup_schedule']>): string {
  const { count, unit } = intervalOf(schedule.interval_seconds)
  const every = count === 1 ? unit.name.slice(0, -1) : `${count} ${unit.name}`
  const { keep_count: kept, keep_seconds: life } = schedule
  const bounds = [
    ...(kept === null ? [] : [`the newest and ${kept} older`]),
    ...(life === null ? [] : [`for ${spanOf(life)}`]),
  ]
  return `Backs up every ${every}. Keeps ${bounds.length === 0 ? 'all backups' : bounds.join(', ')}.`
}

function spanOf(seconds: number): string {
  const { count, unit } = intervalOf(seconds)
  return count === 1 ? unit.name.slice(0, -1) : `${count} ${unit.name}`
}

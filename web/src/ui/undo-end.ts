import type { BoxyardEvent } from '@boxyard/sdk'
import type { Ref } from '../api/records.ts'

/** What ends an undo before its time. */
export interface UndoEnd {
  /** Paths of the resources that it needs: where all are deleted, or what they are part of, nothing can be undone. */
  of: readonly string[]
  /** Types of events of them by which somebody has done it already, such as `box.resume_requested`. */
  done: readonly string[]
  /** Time of the service at which it was done, in ISO 8601: what was before that, and is told later, undoes nothing. */
  since?: string
}

/** Returns what is left of an undo after an event; null: it can no longer be done, or has been done. */
export function afterEvent(end: UndoEnd, { type, resource, ts }: TellingEvent): UndoEnd | null {
  const isOver = (path: string): boolean =>
    type.endsWith('.deleted')
      ? path === resource || path.startsWith(`${resource}/`)
      : path === resource &&
        end.done.includes(type) &&
        (end.since === undefined || Date.parse(ts) > Date.parse(end.since))
  const of = end.of.filter((path) => !isOver(path))
  if (of.length === end.of.length) return end
  return of.length === 0 ? null : { ...end, of }
}

/** What of an event tells whether something can still be undone. */
export type TellingEvent = Pick<BoxyardEvent, 'type' | 'resource' | 'ts'>

/** Returns the path of a box, as events name it. */
export function boxResource({ project, name }: Ref): string {
  return `/v1/projects/${project}/boxes/${name}`
}

/** Returns the path of a data volume, as events name it. */
export function volumeResource({ project, name }: Ref): string {
  return `/v1/projects/${project}/data/${name}`
}

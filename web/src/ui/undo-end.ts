import type { BoxyardEvent } from '@boxyard/sdk'
import type { Ref } from '../api/records.ts'

/** Conditions that end an undo early. */
export interface UndoEnd {
  /** Paths of the resources that it needs. Nothing can be undone once all of them, or their parents, are deleted. */
  of: readonly string[]
  /** Types of their events by which another client has done it already, such as `box.resume_requested`. */
  done: readonly string[]
  /** The service's time of the action, in ISO 8601. Events from before that, even if they arrive later, end nothing. */
  since?: string
}

/** Returns what is left of an undo after an event, or null if it can no longer be done or has been done. */
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

/** Fields of an event that decide whether something can still be undone. */
export type TellingEvent = Pick<BoxyardEvent, 'type' | 'resource' | 'ts'>

/** Returns the path of a box in events. */
export function boxResource({ project, name }: Ref): string {
  return `/v1/projects/${project}/boxes/${name}`
}

/** Returns the path of a data volume in events. */
export function volumeResource({ project, name }: Ref): string {
  return `/v1/projects/${project}/data/${name}`
}

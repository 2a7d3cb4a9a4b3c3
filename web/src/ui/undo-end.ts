import type { BoxyardEvent } from '@boxyard/sdk'

/** What ends an undo before its time. */
export interface UndoEnd {
  /** Paths of the resources that it needs: where all are deleted, or what they are part of, nothing can be undone. */
  of: readonly string[]
  /** Types of events of them by which somebody has done it already, such as `box.running`. */
  done: readonly string[]
}

/** Returns what is left of an undo after an event; null: it can no longer be done, or has been done. */
export function afterEvent(end: UndoEnd, { type, resource }: Pick<BoxyardEvent, 'type' | 'resource'>): UndoEnd | null {
  const isOver = (path: string): boolean =>
    type.endsWith('.deleted')
      ? path === resource || path.startsWith(`${resource}/`)
      : path === resource && end.done.includes(type)
  const of = end.of.filter((path) => !isOver(path))
  if (of.length === end.of.length) return end
  return of.length === 0 ? null : { ...end, of }
}

/** Returns the box or volume whose page has that path, such as `/boxes/yard/web/files`; of other pages none. */
export function resourcesOfPage(path: string): string[] {
  const [, kind, project, name] = /^\/(boxes|volumes)\/([^/]+)\/([^/]+)/.exec(path) ?? []
  if (kind === undefined) return []
  return [`/v1/projects/${project}/${kind === 'boxes' ? 'boxes' : 'data'}/${name}`]
}

import { BUCKETS_MAX } from './buckets.ts'

/** The project and box whose bytes flow. */
export interface FlowOwner {
  project: string
  /** Unique in the project. */
  box: string
}

/** Returns the owner of bytes of a project, or of one of its boxes. */
export function projectOwner(project: string, box = ''): FlowOwner {
  return { project: `project ${project}`, box }
}

/** Waiting turns. Takes from the project that has waited longest for one, and in it from the box that has waited longest. */
export interface Rotation<T> {
  readonly size: number
  add(turn: T): void
  remove(turn: T): void
  take(): T | undefined
}

/** Creates an empty one. */
export function createRotation<T extends { owner: FlowOwner }>(): Rotation<T> {
  const projects = new Map<string, Map<string, Set<T>>>()
  const served = createServed()
  let size = 0
  const remove = (turn: T): void => {
    const { project, box } = turn.owner
    const boxes = projects.get(project)
    const turns = boxes?.get(box)
    if (!turns?.delete(turn)) return
    size--
    if (turns.size === 0) boxes?.delete(box)
    if (boxes?.size === 0) projects.delete(project)
  }
  return {
    get size() {
      return size
    },
    remove,
    add: (turn) => {
      const { project, box } = turn.owner
      const boxes = projects.get(project) ?? new Map<string, Set<T>>()
      projects.set(project, boxes)
      const turns = boxes.get(box) ?? new Set<T>()
      boxes.set(box, turns.add(turn))
      size++
    },
    take: () => {
      const [project, boxes] = served.first(projects) ?? []
      const [box, turns] = (boxes && served.first(boxes, `${project}/`)) ?? []
      const [turn] = turns ?? []
      if (turn === undefined) return undefined
      remove(turn)
      for (const key of [`${project}`, `${project}/${box}`]) served.note(key)
      return turn
    },
  }
}

/** Remembers the order in which keys were last served, for at most the last `BUCKETS_MAX`. */
interface Served {
  note(key: string): void
  /** Returns the entry of a map that has waited longest. `prefix` turns its names into keys. */
  first<V>(entries: ReadonlyMap<string, V>, prefix?: string): [string, V] | undefined
}

function createServed(): Served {
  const last = new Map<string, number>()
  let count = 0
  return {
    note: (key) => {
      last.delete(key)
      last.set(key, ++count)
      if (last.size > BUCKETS_MAX) last.delete(last.keys().next().value ?? '')
    },
    first: <V>(entries: ReadonlyMap<string, V>, prefix = '') => {
      let first: [string, V] | undefined
      let least = Number.POSITIVE_INFINITY
      for (const entry of entries) {
        const at = last.get(`${prefix}${entry[0]}`) ?? 0
        if (at >= least) continue
        least = at
        first = entry
      }
      return first
    },
  }
}

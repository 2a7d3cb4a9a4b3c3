/** Runs work in a fair queue of projects, so that no project waits for all work of another. */
export interface ProjectTurns {
  /** Waits for a turn of `project`, then runs `work`. The turn ends with it, or after 50 ms, so that hanging work delays no other. */
  run<T>(project: string, work: () => Promise<T>): Promise<T>
}

/** Remembers the projects that have recently asked for a turn of any kind, at most the last `RECENT_MAX`. */
export interface RecentProjects {
  note(project: string): void
  /** Counts the projects other than `project`. */
  others(project: string): number
}

export interface ProjectTurnsOptions {
  /** Concurrent turns, ≥ 1. */
  atOnce: number
  /** Length of a pause, as a multiple of the turn before it. Default: 1. */
  pause?: number
  /** Default: one shared by all queues of this process. */
  recent?: RecentProjects
}

/** Creates a list of present projects, which keeps each for `keepMs` after its last request. */
export function createRecentProjects(keepMs = RECENT_MS): RecentProjects {
  // Least recent first.
  const asked = new Map<string, number>()
  const forget = (): void => {
    const since = performance.now() - keepMs
    for (const [project, at] of asked) {
      if (at > since) return
      asked.delete(project)
    }
  }
  return {
    note: (project) => {
      forget()
      asked.delete(project)
      asked.set(project, performance.now())
      if (asked.size > RECENT_MAX) asked.delete(asked.keys().next().value ?? '')
    },
    others: (project) => {
      forget()
      return asked.size - (asked.has(project) ? 1 : 0)
    },
  }
}

/**
 * Creates turns. A single project can use all of them. While others are present, a project has its part, at least one, and the rest stays
 * free for them. A project with more work waiting then pauses after each turn, for the length of that turn or a multiple of it. Waiting
 * projects are served in rotation, and the work of each in its order.
 */
export function createProjectTurns(options: ProjectTurnsOptions): ProjectTurns {
  const { atOnce, pause: pauseTurns = 1, recent = RECENT } = options
  const running = new Map<string, number>()
  const pausing = new Set<string>()
  // Sets, because taking the first of an array of thousands moves all others.
  const waiting = new Map<string, Set<() => void>>()
  let total = 0

  const canBegin = (project: string): boolean => {
    if (total >= atOnce || pausing.has(project)) return false
    return (running.get(project) ?? 0) < Math.max(1, Math.floor(atOnce / (recent.others(project) + 1)))
  }
  const change = (project: string, by: 1 | -1): void => {
    total += by
    const count = (running.get(project) ?? 0) + by
    if (count > 0) running.set(project, count)
    else running.delete(project)
  }
  const serve = (): void => {
    for (const [project, queue] of waiting) {
      if (total >= atOnce) return
      if (!canBegin(project)) continue
      const [next] = queue
      if (next) queue.delete(next)
      waiting.delete(project)
      // Goes behind the others.
      if (queue.size > 0) waiting.set(project, queue)
      change(project, 1)
      next?.()
    }
  }
  const enter = (project: string): Promise<void> => {
    recent.note(project)
    if (!waiting.has(project) && canBegin(project)) {
      change(project, 1)
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const queue = waiting.get(project)
      if (queue) queue.add(resolve)
      else waiting.set(project, new Set([resolve]))
    })
  }
  const pause = (project: string, ms: number): void => {
    pausing.add(project)
    const goOn = (): void => {
      pausing.delete(project)
      serve()
    }
    setTimeout(goOn, ms).unref()
  }
  const leave = (project: string, tookMs: number): void => {
    change(project, -1)
    if (waiting.has(project) && recent.others(project) > 0) pause(project, tookMs * pauseTurns)
    serve()
  }
  return {
    run: async (project, work) => {
      await enter(project)
      return runTurn(work, (tookMs) => leave(project, tookMs))
    },
  }
}

async function runTurn<T>(work: () => Promise<T>, leave: (tookMs: number) => void): Promise<T> {
  const begunAt = performance.now()
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timeout)
    leave(performance.now() - begunAt)
  }
  const timeout = setTimeout(end, TURN_MS).unref()
  try {
    return await work()
  } finally {
    end()
  }
}

const TURN_MS = 50
const RECENT_MS = 2_000
/** Projects that are remembered. */
export const RECENT_MAX = 10_000
const RECENT = createRecentProjects()

/** Starts programs by turns of their projects. */
export interface StartTurns {
  /** Waits for a turn of `project`, then runs `start`. The turn ends with it, or after 50 ms, so that one that hangs holds up nobody. */
  run<T>(project: string, start: () => Promise<T>): Promise<T>
}

export interface StartTurnsOptions {
  /** Turns at once, ≥ 1. */
  atOnce: number
  /** Milliseconds of a monotonic clock. */
  now?: () => number
  /** Calls `listener` after `ms` unless the returned function is called before. */
  after?: (ms: number, listener: () => void) => () => void
}

/**
 * Creates turns. A project alone has all of them; while others have started programs within the last 2 s, it has its part, and the rest
 * stays free for them, so that none waits behind all that another has asked for.
 */
export function createStartTurns(options: StartTurnsOptions): StartTurns {
  const { atOnce, now = () => performance.now(), after = setTimer } = options
  const running = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()
  /** When each project last asked, the one that did so longest ago first. */
  const asked = new Map<string, number>()
  let total = 0

  const note = (project: string): void => {
    asked.delete(project)
    asked.set(project, now())
    for (const [each, at] of asked) {
      if (at > now() - RECENT_MS) return
      asked.delete(each)
    }
  }
  const canBegin = (project: string): boolean => {
    const others = [...asked.keys()].filter((each) => each !== project && (asked.get(each) ?? 0) > now() - RECENT_MS)
    const part = Math.max(1, Math.floor(atOnce / (others.length + 1)))
    return total < atOnce && (running.get(project) ?? 0) < part
  }
  const change = (project: string, by: 1 | -1): void => {
    total += by
    const count = (running.get(project) ?? 0) + by
    if (count > 0) running.set(project, count)
    else running.delete(project)
  }
  const serve = (): void => {
    for (const [project, queue] of [...waiting]) {
      if (!canBegin(project)) continue
      waiting.delete(project)
      const [next, ...later] = queue
      // Behind the others.
      if (later.length > 0) waiting.set(project, later)
      change(project, 1)
      next?.()
    }
  }
  const enter = (project: string): Promise<void> => {
    note(project)
    if (!waiting.has(project) && canBegin(project)) {
      change(project, 1)
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const queue = waiting.get(project)
      if (queue) queue.push(resolve)
      else waiting.set(project, [resolve])
    })
  }
  const leave = (project: string): void => {
    change(project, -1)
    serve()
  }
  return {
    run: async (project, start) => {
      await enter(project)
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        cancel()
        leave(project)
      }
      const cancel = after(TURN_MS, end)
      try {
        return await start()
      } finally {
        end()
      }
    },
  }
}

function setTimer(ms: number, listener: () => void): () => void {
  const timer = setTimeout(listener, ms).unref()
  return () => clearTimeout(timer)
}

const TURN_MS = 50
const RECENT_MS = 2_000

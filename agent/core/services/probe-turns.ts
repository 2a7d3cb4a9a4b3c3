import type { Clock } from '../../ports/host/clock.ts'

/** Probes of services per second, in total. */
export const PROBES_PER_SECOND = 200

/** Admits probes of services, in a fair queue of their projects. */
export interface ProbeTurns {
  /** Waits for a turn of `project`, for a probe that counts for `cost`, ≥ 1, at most until `signal` aborts. */
  enter(project: string, cost: number, signal: AbortSignal): Promise<void>
}

export interface ProbeTurnsOptions {
  clock: Clock
  perSecond?: number
}

/**
 * Creates a fair queue with `perSecond` turns, and as many at once after an idle second. A look with a higher cost makes the next one wait
 * longer. Waiting projects get equal parts. In rotation, each earns one turn per round.
 */
export function createProbeTurns({ clock, perSecond = PROBES_PER_SECOND }: ProbeTurnsOptions): ProbeTurns {
  const waiting = new Map<string, Waiting>()
  let left = perSecond
  let filledAt = clock.now()
  let isServing = false

  const fill = (): void => {
    const now = clock.now()
    left = Math.min(perSecond, left + (Math.max(0, now - filledAt) / 1000) * perSecond)
    filledAt = now
  }
  const serveAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      fill()
      if (left < 1) {
        await clock.sleep(Math.ceil(((1 - left) / perSecond) * 1000))
        fill()
        left = Math.max(left, 1)
      }
      const turn = nextTurn(waiting)
      left -= turn?.cost ?? 0
      turn?.begin()
    }
    isServing = false
  }
  return {
    enter: (project, cost, signal) => {
      if (signal.aborted) return Promise.resolve()
      fill()
      if (!isServing && left >= 1) {
        left -= cost
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const begin = (): void => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const turn = { cost, begin }
        const ofProject = waiting.get(project) ?? { earned: 0, turns: new Set() }
        waiting.set(project, ofProject)
        ofProject.turns.add(turn)
        const leave = (): void => {
          ofProject.turns.delete(turn)
          resolve()
        }
        signal.addEventListener('abort', leave, { once: true })
        if (isServing) return
        isServing = true
        void serveAll()
      })
    },
  }
}

interface Turn {
  cost: number
  begin(): void
}

interface Waiting {
  earned: number
  turns: Set<Turn>
}

// Takes the next turn. A project that has not earned its cost yet goes behind the others.
function nextTurn(waiting: Map<string, Waiting>): Turn | null {
  for (const [project, ofProject] of waiting) {
    waiting.delete(project)
    const [turn] = ofProject.turns
    if (turn === undefined) continue
    ofProject.earned += 1
    waiting.set(project, ofProject)
    if (turn.cost > ofProject.earned) continue
    ofProject.earned -= turn.cost
    ofProject.turns.delete(turn)
    return turn
  }
  return null
}

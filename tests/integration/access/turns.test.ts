import { describe, expect, test } from '@jest/globals'
import { createProbeTurns } from '../../../agent/core/services/probe-turns.ts'
import { createFlowTurns } from '../../../shared/flow-turns.ts'
import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import { createProjectTurns, createRecentProjects } from '../../../shared/project-turns.ts'
import { SHARES } from '../../../shared/schemas/shares.ts'
import { type NamesWith, namesWith } from '../../helpers/shares.ts'

/** Everything that is waited for in turns, one at a time. */
const TURNS: Record<NamesWith<'turns'>, () => Limiter> = {
  starts: () => createLimiter(1),
  backups: () => createLimiter(1),
  probes: probeLimiter,
  command_starts: projectLimiter,
  snapshots: projectLimiter,
  unread_output: flowLimiter,
  read_output: flowLimiter,
}

function projectLimiter(): Limiter {
  const turns = createProjectTurns({ atOnce: 1, recent: createRecentProjects() })
  return { run: (work, owner = '') => turns.run(owner, work) }
}

// One stream each, of which a piece takes a round.
function flowLimiter(): Limiter {
  const pace = { bytesPerRound: PIECE_BYTES }
  const turns = createFlowTurns({ pace, allowance: { burst: 0, perSecond: 0 } })
  return {
    run: (work, owner = '') =>
      new Promise((resolve) => {
        let isHeld = false
        const begin = (): void => void work().then(resolve)
        const flow = turns.open({ project: owner, box: 'web' }, { hold: () => void (isHeld = true), release: begin })
        flow.count(PIECE_BYTES)
        if (!isHeld) begin()
      }),
  }
}

// One probe at a time, each as soon as the imagined clock lets it.
function probeLimiter(): Limiter {
  let now = 0
  const sleep = async (ms: number): Promise<void> => void (now += ms)
  const turns = createProbeTurns({ clock: { now: () => now, sleep }, perSecond: 1 })
  const never = new AbortController().signal
  return {
    run: async (work, owner = '') => {
      await turns.enter(owner, 1, never)
      return work()
    },
  }
}

const PIECE_BYTES = 256 * 1024

describe('what waits takes turns', () => {
  test.each(namesWith('turns'))('%s', async (name) => {
    expect(SHARES[name].by).toContain('project')
    const limiter = TURNS[name]()
    const order: string[] = []
    const held = Promise.withResolvers<void>()
    const work = [limiter.run(() => held.promise, 'loud')]
    const add = (owner: string): void => void work.push(limiter.run(async () => void order.push(owner), owner))
    for (let i = 0; i < 5; i++) add('loud')
    for (const owner of ['quiet', 'calm', 'quiet']) add(owner)
    held.resolve()
    await Promise.all(work)
    expect(order.slice(0, 3)).toEqual(expect.arrayContaining(['quiet', 'calm']))
    expect(order.lastIndexOf('quiet')).toBeLessThan(5)
  })
})

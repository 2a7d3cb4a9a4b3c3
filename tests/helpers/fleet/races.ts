import { setTimeout as pause } from 'node:timers/promises'
import { createRandom } from '../sample.ts'
import { type HistoryRun, haveFaults } from './history-run.ts'

export interface Races extends Omit<HistoryRun, 'durationMs'> {
  /** Total number of racing creates. Each name gets one create from each gateway. */
  creates: number
}

/**
 * Races creates while faults happen. For each of many names, sends one create to each gateway at once. Then reads the winner at each
 * gateway, and deletes it. One of twenty races is for a box.
 */
export async function race(races: Races): Promise<void> {
  const { doors, creates } = races
  const rounds = Math.ceil(creates / doors)
  let next = 0
  let isOver = false
  const run = async (): Promise<void> => {
    while (next < rounds) await raceOnce(races, next++)
  }
  const faults = haveFaults(races, () => isOver)
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, run))
  } finally {
    isOver = true
    await faults
  }
}

async function raceOnce({ client, doors, seed }: Races, round: number): Promise<void> {
  const random = createRandom(seed + round)
  const kind = round % 20 === 0 ? 'box' : 'volume'
  const name = `race-${seed}-${round}`
  const all = Array.from({ length: doors }, (_, door) => door)
  await Promise.all(
    all.map(async (door) => {
      const request = { op: 'create', kind, name, key: `r-${seed}-${round}-${door}` } as const
      let made = await client.make(door, request)
      // A client without an answer retries at any gateway.
      for (let tries = 0; made.outcome.is === 'unknown' && tries < TRIES; tries++) {
        await pause(200)
        made = await client.make(Math.floor(random() * doors), request)
      }
    }),
  )
  for (const door of all) await client.make(door, { op: 'get', kind, name })
  for (let tries = 0; tries < TRIES; tries++) {
    const gone = await client.make(Math.floor(random() * doors), { op: 'delete', kind, name })
    if (gone.outcome.is === 'done' || gone.outcome.is === 'absent') return
    await pause(200)
  }
}

const AT_ONCE = 4
const TRIES = 60

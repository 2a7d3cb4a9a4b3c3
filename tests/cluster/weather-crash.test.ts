import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { podTableName } from '../../agent/drivers/pods/rules.ts'
import { instanceOf } from '../helpers/boxes/world.ts'
import type { Answer } from '../helpers/front/client.ts'
import { type BoxSeen, pidsOfBox, startWeather, until, type Weather } from '../helpers/pods/weather.ts'
import { createRandom, draw, readSeed } from '../helpers/sample.ts'

// Kills the agent at any moment of a pod's life. A pod takes long to start and to stop. Kills only between the agent's steps, as in
// tests/e2e/boxes/faults.test.ts, would miss moments.

let weather: Weather
let witness: BoxSeen
const random = createRandom(readSeed())

beforeAll(async () => {
  weather = await startWeather()
  witness = await weather.createBox('witness')
})

afterAll(async () => {
  await weather?.close()
})

type Action = 'create' | 'stop' | 'resume' | 'delete'
const ROUNDS = (['create', 'stop', 'resume', 'delete', 'create', 'resume', 'delete', 'stop'] as const).map(
  (action) => [action, Math.floor(random() * (action === 'stop' || action === 'delete' ? 120 : 900))] as const,
)

test.each(draw(ROUNDS, 4))(
  'killed during %s, after %i ms: boxes, pods and processes match the records',
  async (action, ms) => {
    const pids = pidsOfBox(weather, witness)
    await prepare(action)
    const inits = countInits()
    const answered = act(action).catch(() => null)
    await sleep(ms)
    await weather.service.killAgent()
    const answer = await answered
    await weather.service.startAgent()
    await until(
      async () => !['pending', 'unknown'].includes((await weather.getBox('victim')).status),
      'it comes to rest',
    )
    await weather.untilAgreed()
    if (answer !== null && answer.status < 300)
      expect(String((await weather.getBox('victim')).status)).toBe(RESULTS[action])
    expect(pidsOfBox(weather, witness)).toEqual(pids)
    expect(inits.most()).toBe(1)
    await weather.client.delete(`${weather.boxes}/victim`)
    await weather.untilAgreed()
    expect(boxesLetIn()).toEqual([witness.id])
  },
)

/** Status of the box after a response, or the HTTP status if the box is gone. */
const RESULTS = { create: 'running', stop: 'stopped', resume: 'running', delete: '404' }

async function prepare(action: Action): Promise<void> {
  if (action === 'create') return
  await weather.createBox('victim')
  if (action === 'resume') await weather.client.post(`${weather.boxes}/victim/stop`)
}

function act(action: Action): Promise<Answer> {
  const path = `${weather.boxes}/victim`
  if (action === 'delete') return weather.client.delete(path)
  if (action !== 'create') return weather.client.post(`${path}/${action}`)
  return weather.client.post(weather.boxes, { name: 'victim', config: { ram_mb: 64, cpus: 0.5, storage_gb: 1 } })
}

/** Counts the inits on the root of one box until the test calls `most`. There may be at most one at a time. */
function countInits(): { most(): number } {
  let most = 0
  const timer = setInterval(() => {
    const roots = initRoots()
    for (const root of roots) most = Math.max(most, roots.filter((each) => each === root).length)
  }, 30)
  return {
    most: () => {
      clearInterval(timer)
      return most
    },
  }
}

/** Lists the subvolumes that are the root of a running init. */
function initRoots(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'init') return []
      return /^\d+ \d+ \S+ (\/sub_box_\w+) \/ /m.exec(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))?.[1] ?? []
    } catch {
      return []
    }
  })
}

/** Lists the ids of the boxes in the packet filter. */
function boxesLetIn(): string[] {
  const table = podTableName(instanceOf(weather.service))
  const listed = execFileSync('nft', ['list', 'set', 'inet', table, 'boxes'], { encoding: 'utf8' })
  return listed.match(/\bbox_\w+/g) ?? []
}

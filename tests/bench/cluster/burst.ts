import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../helpers/front/client.ts'
import { boxPath, deleteBox } from '../context.ts'
import { report, timeOnce } from '../figures.ts'
import { type ClusterBench, startClusterService, untilNoPods } from './service.ts'

/** Times 30 concurrent creates until all boxes run, alternating with as many bare pods. */
export async function benchClusterBurst(bench: ClusterBench): Promise<void> {
  const { peer } = bench
  const ours: number[] = []
  const theirs: number[] = []
  let failures = 0
  const at = await startClusterService(bench)
  try {
    for (let burst = 0; burst < BURSTS; burst++) {
      const boxes = NAMES.map((name) => `${name}-${burst}`)
      const outcomes = await timeAll(boxes, (name) => createRunning(at.client, name))
      ours.push(outcomes.ms)
      failures += outcomes.failures
      await Promise.all(boxes.map((name) => deleteBox(at.client, name)))
      await untilNoPods(at)
      const pods = boxes.map((name) => `bench-${name}`)
      theirs.push((await timeAll(pods, (name) => peer.createAndStart(name))).ms)
      await Promise.all(pods.map((name) => peer.remove(name)))
    }
  } finally {
    await at.close()
  }
  const slowest = Math.max(...ours)
  const ratio = sum(ours) / sum(theirs)
  const isFine = slowest <= 12_000 && failures === 0
  report('cluster: 30 boxes at once → all running', `${seconds(ours)}, ${failures} failures`, '≤ 12 s; 0', isFine)
  report('bare API: 30 pods at once → all running', `${seconds(theirs)}; ours ${ratio.toFixed(2)}×`, 'told', true)
}

/** Creates a box and polls until it runs, since the request itself may return earlier. */
async function createRunning(client: Client, name: string): Promise<void> {
  const made = await client.post('/v1/projects/bench/boxes', { name })
  if (made.status !== 201) throw new Error(`create ${name}: ${made.status} ${made.text}`)
  for (let { body, text } = made; body.status !== 'running'; { body, text } = await client.get(boxPath(name))) {
    if (body.status === 'failed') throw new Error(`create ${name}: ${text}`)
    await sleep(POLL_MS)
  }
}

async function timeAll(
  names: readonly string[],
  work: (name: string) => Promise<void>,
): Promise<{ ms: number; failures: number }> {
  let failures = 0
  const ms = await timeOnce(async () => {
    await Promise.all(
      names.map((name) =>
        work(name).catch((error: unknown) => {
          failures += 1
          process.stderr.write(`${name}: ${String(error)}\n`)
        }),
      ),
    )
  })
  return { ms, failures }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function seconds(values: readonly number[]): string {
  return `${values.map((value) => (value / 1000).toFixed(1)).join(' / ')} s`
}

const NAMES = Array.from({ length: 30 }, (_, i) => `burst-${i}`)
const BURSTS = 3
const POLL_MS = 50

import { setTimeout as sleep } from 'node:timers/promises'
import { createBox, deleteBox } from '../context.ts'
import { percentile, report, summary, timeOnce } from '../figures.ts'
import type { KubePeer } from './peer.ts'
import { type ClusterBench, type ClusterService, execTrue, startClusterService, untilNoPods } from './service.ts'

/** Times each box separately from its create request to the end of its first command, alternating with bare pods. */
export async function benchClusterCold(bench: ClusterBench): Promise<void> {
  const ours: number[] = []
  const plain: number[] = []
  const likeOurs: number[] = []
  const at = await startClusterService(bench)
  try {
    for (let i = -1; i < ROUNDS; i++) {
      const our = await timeBox(at, `cold-${i + 1}`)
      await untilNoPods(at)
      const theirs = await timePod(bench.peer, `bench-cold-${i + 1}`, { ownUsers: false })
      const alike = await timePod(bench.peer, `bench-alike-${i + 1}`, { ownUsers: true })
      // Drops the first round, which is not warmed up.
      if (i < 0) continue
      ours.push(our)
      plain.push(theirs)
      likeOurs.push(alike)
    }
  } finally {
    await at.close()
  }
  report('cluster: create → first exec, cold', summary(ours), '≤ 2 s', percentile(ours, 0.5) <= 2000)
  const ratio = percentile(ours, 0.5) / percentile(plain, 0.5)
  report('bare API: create pod → first exec', `${summary(plain)}; ours ${ratio.toFixed(2)}×`, '≤ 1.15×', ratio <= 1.15)
  const alike = percentile(ours, 0.5) / percentile(likeOurs, 0.5)
  report(
    '  a pod with users of its own, as boxes have',
    `${summary(likeOurs)}; ours ${alike.toFixed(2)}×`,
    'told',
    true,
  )
}

/** Times the same with a warm pool, which is full before each create. */
export async function benchClusterWarm(bench: ClusterBench): Promise<void> {
  const values: number[] = []
  const at = await startClusterService(bench, { BOXYARD_WARM_POOL: String(WARM_PODS) })
  const untilFull = (): Promise<void> =>
    at.pods.until('the warm pool is full', (all) => all.length === WARM_PODS && all.every(({ isRunning }) => isRunning))
  try {
    for (let i = -1; i < ROUNDS; i++) {
      await untilFull()
      const value = await timeBox(at, `warm-${i + 1}`)
      if (i >= 0) values.push(value)
    }
  } finally {
    await at.close()
  }
  report('cluster: create → first exec, warm pool', summary(values), '≤ 150 ms', percentile(values, 0.5) <= 150)
}

async function timeBox({ client }: ClusterService, name: string): Promise<number> {
  await atAnyMoment()
  const ms = await timeOnce(async () => {
    await createBox(client, name)
    await execTrue(client, name)
  })
  await deleteBox(client, name)
  return ms
}

async function timePod(peer: KubePeer, name: string, options: { ownUsers: boolean }): Promise<number> {
  await atAnyMoment()
  const ms = await timeOnce(async () => {
    await peer.createAndStart(name, options)
    await peer.exec(name)
  })
  await peer.remove(name)
  return ms
}

// Starts at a random phase. The kubelet polls its containers once a second, and the previous wait ended at a poll.
function atAnyMoment(): Promise<void> {
  return sleep(Math.random() * KUBELET_PERIOD_MS)
}

const ROUNDS = 20
const KUBELET_PERIOD_MS = 1000
const WARM_PODS = 4

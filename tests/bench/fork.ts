import { createRandom } from '../helpers/sample.ts'
import { type BenchContext, boxPath, createBox, deleteBox, forkBox, shellIn } from './context.ts'
import type { DockerPeer } from './docker-peer.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'
import { benchForkDeploys } from './fork-deploys.ts'
import { FILL_LINES, LARGE_ROOT_FILES } from './large-root.ts'

/** Times forks of a running box with a 5 GB root, alternating with forks of a small one. Docker commits and runs the same files. */
export async function benchFork(context: BenchContext): Promise<void> {
  const { client, docker } = context
  await createBox(client, 'small')
  await createBox(client, 'large')
  for (const line of FILL_LINES) await shellIn(client, 'large', line)
  for (const source of ['small', 'large']) await shellIn(client, source, 'sync')
  const times: Record<string, number[]> = { small: [], large: [] }
  const random = createRandom(1)
  for (let i = 0; i < ROUNDS; i++) {
    // Uses a random order. The background work after each fork would otherwise always slow down the same one.
    for (const source of random() < 0.5 ? ['small', 'large'] : ['large', 'small']) {
      // Leaves dirty pages, as a box in use does.
      await shellIn(client, source, `echo ${i} > /root/tick`)
      times[source]?.push(await timeOnce(() => forkBox(client, `${source}-${i}`, source)))
    }
  }
  await checkFork(client, `large-${ROUNDS - 1}`)
  const [small = [], large = []] = [times['small'], times['large']]
  const ratio = percentile(large, 0.5) / percentile(small, 0.5)
  report('fork of a 3 MB root → running', summary(small), 'told', true)
  report('fork of a 5 GB root → running', summary(large), '50 ms', percentile(large, 0.5) <= 50)
  report('fork: 5 GB root against 3 MB', `${ratio.toFixed(2)}×`, '≤ 1.3×', ratio <= 1.3)
  await benchForkDeploys(context, 'large')
  for (const source of ['small', 'large']) {
    for (let i = 0; i < ROUNDS; i++) await deleteBox(client, `${source}-${i}`)
    await deleteBox(client, source)
  }
  await compareCommit(docker, percentile(large, 0.5))
}

async function checkFork(client: BenchContext['client'], name: string): Promise<void> {
  const found = await shellIn(client, name, `find /data -type f | wc -l; cat /root/tick`)
  if (found !== `${LARGE_ROOT_FILES}\n${ROUNDS - 1}\n`)
    throw new Error(`${boxPath(name)} has not the files of its source: ${found}`)
}

async function compareCommit(docker: DockerPeer, oursMs: number): Promise<void> {
  await docker.createAndStart('large')
  for (const line of FILL_LINES) await docker.shell('large', line)
  const theirs = await timeEach(DOCKER_ROUNDS, async (i) => {
    await docker.commit('large', `fork:${i}`)
    await docker.createAndStart(`fork-${i}`, `fork:${i}`)
  })
  const times = percentile(theirs, 0.5) / oursMs
  report('docker: commit → run of 5 GB', `${summary(theirs)} = ${times.toFixed(0)}×`, 'told', true)
  for (let i = 0; i < DOCKER_ROUNDS; i++) {
    await docker.remove(`fork-${i}`)
    await docker.removeImage(`fork:${i}`)
  }
  await docker.remove('large')
}

const ROUNDS = 30
const DOCKER_ROUNDS = 3

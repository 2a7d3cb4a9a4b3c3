import { type BenchContext, boxPath, createBox, deleteBox, execEcho, shellIn } from './context.ts'
import type { DockerPeer } from './docker-peer.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'
import { FILL_LINES } from './large-root.ts'
import { openBenchStream, streamQuery } from './stream-client.ts'

/** Times snapshots of running boxes, small and large, with volumes, and restores in place. Docker commits the same files. */
export async function benchSnapshots(context: BenchContext): Promise<void> {
  const { client, docker } = context
  await createBox(client, 'small')
  await createBox(client, 'large')
  for (const line of FILL_LINES) await shellIn(client, 'large', line)
  for (const source of ['small', 'large']) await shellIn(client, source, 'sync')
  const large = await measureTaking(context)
  await measurePause(context)
  await measureRestores(context)
  for (const name of ['small', 'large']) await deleteBox(client, name)
  await compareCommit(docker, percentile(large, 0.5))
}

async function measureTaking({ client }: BenchContext): Promise<number[]> {
  const times: Record<string, number[]> = { small: [], large: [] }
  for (let i = 0; i < ROUNDS; i++) {
    for (const source of ['small', 'large']) {
      // Leaves dirty pages, as a box in use does.
      await shellIn(client, source, `echo ${i} > /root/tick`)
      times[source]?.push(await timeOnce(() => take(client, source, {})))
    }
  }
  const [small = [], large = []] = [times['small'], times['large']]
  report('snapshot of a running box, 3 MB root', summary(small), '≤ 15 ms', percentile(small, 0.5) <= 15)
  report('snapshot of a running box, 5 GB root', summary(large), '≤ 15 ms', percentile(large, 0.5) <= 15)
  return large
}

// Measures the pause that a client sees while it sends to the box continuously.
async function measurePause(context: BenchContext): Promise<void> {
  const { client, service } = context
  for (const name of ['one', 'two']) {
    await client.post('/v1/projects/bench/data', { name, size_gb: 1 })
    await client.post(`/v1/projects/bench/data/${name}/attach`, { box: 'small', path: `/srv/${name}` })
  }
  const url = `${service.url}${boxPath('small')}/exec/ws?${streamQuery(['cat'], { stdin: 'true', stdout: 'true' })}`
  const stream = await openBenchStream(url, service.adminToken)
  let onEcho = (): void => undefined
  stream.onOutput(() => onEcho())
  const ping = (): Promise<void> =>
    new Promise((resolve) => {
      onEcho = resolve
      stream.send(Buffer.from('x'))
    })
  await timeEach(100, ping)
  const pauses: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    await shellIn(client, 'small', `for d in /root /srv/one /srv/two; do head -c 200000 /dev/urandom > $d/file; done`)
    let isTaken = false
    const taking = take(client, 'small', { include_data: true }).then(() => {
      isTaken = true
    })
    let longest = 0
    while (!isTaken) longest = Math.max(longest, await timeOnce(ping))
    await taking
    pauses.push(longest)
  }
  stream.leave()
  report('pause under include_data, two volumes', summary(pauses), '≤ 40 ms', percentile(pauses, 0.5) <= 40)
}

async function measureRestores({ client }: BenchContext): Promise<void> {
  for (const name of ['small', 'large']) {
    const body = { snapshot: 'v0' }
    const times = await timeEach(ROUNDS, async () => {
      const { status, text } = await client.post(`${boxPath(name)}/restore`, body)
      if (status !== 200) throw new Error(`restore ${name}: ${status} ${text}`)
      await execEcho(client, name)
    })
    const what = `restore → first exec, ${name === 'small' ? '3 MB' : '5 GB'} root`
    report(what, summary(times), '≤ 80 ms', percentile(times, 0.5) <= 80)
  }
}

async function take(client: BenchContext['client'], box: string, body: Record<string, unknown>): Promise<void> {
  const { status, text } = await client.post(`${boxPath(box)}/snapshots`, body)
  if (status !== 201) throw new Error(`snapshot of ${box}: ${status} ${text}`)
}

async function compareCommit(docker: DockerPeer, oursMs: number): Promise<void> {
  await docker.createAndStart('large')
  for (const line of FILL_LINES) await docker.shell('large', line)
  const theirs = await timeEach(DOCKER_ROUNDS, (i) => docker.commit('large', `shot:${i}`))
  const times = percentile(theirs, 0.5) / oursMs
  report('docker commit of 5 GB', `${summary(theirs)} = ${times.toFixed(0)}×`, 'told', true)
  for (let i = 0; i < DOCKER_ROUNDS; i++) await docker.removeImage(`shot:${i}`)
  await docker.remove('large')
}

const ROUNDS = 30
const DOCKER_ROUNDS = 3

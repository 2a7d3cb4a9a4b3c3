import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPart } from '../../infra/cluster/part-process.ts'
import { clusterPaths } from '../../infra/cluster/record.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { type FleetPlane, startFleetPlane } from '../helpers/pods/fleet-plane.ts'
import { succeed } from '../helpers/pods/kubectl.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { cpuMsOf } from './cluster/rest.ts'
import { percentile, report, summary, timeEach } from './figures.ts'
import { residentBytes } from './memory-peak.ts'

/**
 * Measures an entry point of a fleet with many boxes of other cells, stored by a real API server and etcd. Reports the time from its start
 * until it knows all of them, and the memory that they add to the same agent. `BENCH_HOMES` sets their number, by default 100,000.
 */
export async function benchHomes(): Promise<void> {
  const plane = await startFleetPlane()
  try {
    plane.install()
    const cell = { BOXYARD_CELL: 'aa', BOXYARD_NODE: 'node-aa', BOXYARD_KUBECONFIG: plane.addNode('node-aa') }
    const settings = { BOXYARD_RUNTIME: 'embedded', BOXYARD_POOL_GB: '0.5', BOXYARD_CELL_EDGE_PORT: '0', ...cell }
    const service = await startService({ settings })
    try {
      await benchDoor(plane, service)
    } finally {
      await service.close()
    }
  } finally {
    await plane.close()
  }
}

async function benchDoor(plane: FleetPlane, service: TestService): Promise<void> {
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const empty = await startAgain(service, async () => undefined)
  await plane.seedHomes(HOMES)
  // The seed bypassed the API server, which must read it before the first request.
  succeed(plane.kubectl('get', '--raw', '/apis/boxyard.dev/v1alpha1/namespaces/boxyard/homes?limit=1'))
  const full = await startAgain(service, () => untilKnown(client, HOMES - 1))
  for (let i = 0; i < HOMES; i += Math.ceil(HOMES / SAMPLES)) await untilKnown(client, i)
  const { seconds, restedSeconds, cpuSeconds, megabytes } = full
  const [name, count] = ['homes:', HOMES.toLocaleString('en-US')]
  const beside = `without any ${empty.seconds.toFixed(1)} and ${empty.cpuSeconds.toFixed(1)} s`
  const text = `${seconds.toFixed(1)} s, all listed ${restedSeconds.toFixed(1)} s, CPU ${cpuSeconds.toFixed(1)} s (${beside})`
  report(`${name} door ready with ${count}`, text, '15 s', restedSeconds <= READY_S || HOMES > TARGETED)
  const added = megabytes - empty.megabytes
  const memory = `+${added.toFixed(0)} MB (RSS ${megabytes.toFixed(0)} MB)`
  report(`${name} memory that they add`, memory, '150 MB', added <= ADDED_MB || HOMES > TARGETED)
  const gets = await timeEach(CALLS, (i) => told(client, boxAt(i * Math.floor(HOMES / CALLS))))
  report(`${name} get of one by its card`, `${summary(gets)}, worst ${percentile(gets, 1).toFixed(0)} ms`, 'told', true)
  const lists = await timeEach(LISTS, (i) => told(client, `/v1/projects/many-${i}/boxes?max_results=1000`))
  report(`${name} list of a project, first 1,000`, summary(lists), 'told', true)
  const { name: cluster } = plane.record
  const database = statSync(join(clusterPaths(cluster).state, 'etcd/member/snap/db')).size / 1e6
  const [etcd, server] = (['etcd', 'kube-apiserver'] as const).map(
    (part) => residentBytes(findPart(cluster, part) ?? 0) / 1e6,
  )
  const memories = `etcd ${etcd?.toFixed(0)} MB, file ${database.toFixed(0)} MB, API server ${server?.toFixed(0)} MB`
  report(`${name} memory of the control plane`, memories, 'told', true)
}

/** Restarts the agent. Returns the time until `known` resolves, the time until the agent is idle, and its settled memory. */
async function startAgain(
  service: TestService,
  known: () => Promise<void>,
): Promise<{ seconds: number; restedSeconds: number; cpuSeconds: number; megabytes: number }> {
  await service.killAgent('SIGTERM')
  const startedAt = performance.now()
  await service.startAgent()
  await known()
  const seconds = (performance.now() - startedAt) / 1000
  const restedSeconds = ((await untilRested(service.agentPid)) - startedAt) / 1000
  const cpuSeconds = cpuMsOf(service.agentPid) / 1000
  return { seconds, restedSeconds, cpuSeconds, megabytes: (await settledBytes(service.agentPid)) / 1e6 }
}

/**
 * Waits until a process has used almost no CPU for three seconds, for two minutes at most. Returns when it was last busy. An entry point
 * reads unknown boxes one by one, so it answers before it has listed all.
 */
async function untilRested(pid: number): Promise<number> {
  const deadline = performance.now() + RESTED_MAX_MS
  let [busyAt, spent] = [performance.now(), cpuMsOf(pid)]
  while (performance.now() - busyAt < REST_MS && performance.now() < deadline) {
    await sleep(LOOK_MS)
    const now = cpuMsOf(pid)
    if (now - spent > IDLE_MS) busyAt = performance.now()
    spent = now
  }
  return busyAt
}

/** Waits until a process's memory stays within 1 MB for a while, and returns it. */
async function settledBytes(pid: number): Promise<number> {
  let last = residentBytes(pid)
  for (let quiet = 0, looks = 0; quiet < SETTLED_LOOKS && looks < LOOKS_MAX; looks++) {
    await sleep(1000)
    const now = residentBytes(pid)
    quiet = Math.abs(now - last) < 1e6 ? quiet + 1 : 0
    last = now
  }
  return last
}

/** Resolves once the entry point returns a seeded box, which shows that it knows the owner. */
async function untilKnown(client: Client, index: number): Promise<void> {
  for (;;) {
    const { status, text } = await client.get(boxAt(index))
    if (status === 200) return
    if (status !== 404 && status !== 503) throw new Error(`not told: ${status} ${text}`)
    await sleep(10)
  }
}

async function told(client: Client, path: string): Promise<void> {
  const { status, text } = await client.get(path)
  if (status !== 200) throw new Error(`not told: ${status} ${text}`)
}

function boxAt(index: number): string {
  return `/v1/projects/many-${index % 100}/boxes/box-${index}`
}

/** Number of boxes that the targets assume. */
const TARGETED = 100_000
const HOMES = Number(process.env['BENCH_HOMES'] ?? TARGETED)
const READY_S = 15
const ADDED_MB = 150
const SAMPLES = 200
const CALLS = 100
const LISTS = 20
const SETTLED_LOOKS = 20
const LOOKS_MAX = 90
const REST_MS = 3_000
const RESTED_MAX_MS = 120_000
const LOOK_MS = 250
const IDLE_MS = 25

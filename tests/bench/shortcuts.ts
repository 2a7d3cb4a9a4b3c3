import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { boxPath, createBox, shellIn } from './context.ts'
import { percentile, report, timeOnce } from './figures.ts'
import { openBenchStream, streamQuery } from './stream-client.ts'

/**
 * Measures the benefit of two optimizations of the agent. passing-bytes.ts collects forwarded buffers early, and stream-bridge.ts bypasses
 * the writes of `ws`. Compares each with an agent without it, alternately, over 1 GiB. Ratios are medians of pairs. Remove an optimization
 * that misses its target.
 */
export async function benchShortcuts(): Promise<void> {
  const services: TestService[] = []
  const open = async (without: string | null): Promise<TestService> => {
    const service = await openService(without)
    services.push(service)
    return service
  }
  try {
    const ours = await open(null)
    const uncollected = await open('collection')
    const copied = await open('direct-writes')
    await compare('1 GiB of stdout, collected in passing', [ours, uncollected], stream)
    await compare('1 GiB of a file, collected in passing', [ours, uncollected], read)
    await compare('1 GiB of stdout, written past ws', [ours, copied], stream)
    const [most, mostUncollected] = [largestMb(ours), largestMb(uncollected)]
    report(
      "the agent's largest memory",
      `${most} MB; without collection ${mostUncollected}`,
      'less',
      most < mostUncollected,
    )
  } finally {
    for (const service of services) await service.close()
  }
}

async function openService(without: string | null): Promise<TestService> {
  const settings: Record<string, string> = { BOXYARD_POOL_GB: '2' }
  const plain = { agentScript: 'tests/fixtures/plain-agent.ts', settings: { ...settings, TEST_WITHOUT: without ?? '' } }
  const service = await startService(without === null ? { settings } : plain)
  try {
    const client = createClient(
      () => service.url,
      () => service.adminToken,
    )
    await createBox(client, BOX)
    await shellIn(client, BOX, `dd if=/dev/urandom of=/root/large bs=1M count=${BYTES / 1024 ** 2}`)
    return service
  } catch (error) {
    await service.close()
    throw error
  }
}

async function compare(what: string, pair: readonly [TestService, TestService], work: Work): Promise<void> {
  const rounds: { ours: Cost; plain: Cost }[] = []
  for (const service of pair) await work(service)
  for (let n = 0; n < ROUNDS; n++)
    rounds.push({ ours: await costOf(pair[0], work), plain: await costOf(pair[1], work) })
  const compareBy = (of: (cost: Cost) => number): { measured: string; gain: number } => {
    const median = (value: (round: { ours: Cost; plain: Cost }) => number): number => percentile(rounds.map(value), 0.5)
    const gain = median(({ ours, plain }) => of(plain) / of(ours))
    const [ours, plain] = [median((round) => of(round.ours)), median((round) => of(round.plain))]
    return { measured: `${ours.toFixed(2)} against ${plain.toFixed(2)} s: ${gain.toFixed(2)}×`, gain }
  }
  const wall = compareBy(({ wallMs }) => wallMs / 1000)
  const processor = compareBy(({ processorMs }) => processorMs / 1000)
  report(what, wall.measured, '≥ 1.1×', wall.gain >= 1.1)
  report("  the agent's time of a processor", processor.measured, '≥ 1.1×', processor.gain >= 1.1)
}

async function costOf(service: TestService, work: Work): Promise<Cost> {
  const before = processorMs(service.agentPid)
  const wallMs = await timeOnce(() => work(service))
  return { wallMs, processorMs: processorMs(service.agentPid) - before }
}

async function stream({ dataUrl, adminToken }: TestService): Promise<void> {
  const query = streamQuery(['dd', 'if=/dev/zero', 'bs=256k', `count=${BYTES / 256 / 1024}`])
  const { ended, received } = await openBenchStream(`${dataUrl}${boxPath(BOX)}/exec/ws?${query}`, adminToken)
  await ended
  if (received() !== BYTES) throw new Error(`only ${received()} bytes came`)
}

async function read({ dataUrl, adminToken }: TestService): Promise<void> {
  const headers = { authorization: `Bearer ${adminToken}` }
  const { body } = await request(`${dataUrl}${boxPath(BOX)}/files/read?path=/root/large`, { headers })
  let bytes = 0
  for await (const piece of body) bytes += (piece as Buffer).length
  if (bytes !== BYTES) throw new Error(`only ${bytes} bytes came`)
}

/** Returns the user and system time of all threads of a process. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[UTIME_FIELD]) + Number(fields[UTIME_FIELD + 1])) * TICK_MS
}

/** Returns the peak resident memory of the agent, in MB (10⁶). */
function largestMb({ agentPid }: TestService): number {
  const [, kib = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${agentPid}/status`, 'utf8')) ?? []
  return Math.round((Number(kib) * 1024) / 1e6)
}

type Work = (service: TestService) => Promise<void>

interface Cost {
  wallMs: number
  processorMs: number
}

const BOX = 'passing'
const BYTES = 1024 ** 3
const ROUNDS = 11
// Field 14 of /proc/<pid>/stat, counted from the one after the name (3), in hundredths of a second.
const UTIME_FIELD = 11
const TICK_MS = 10

import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchContext, boxPath, createBox, deleteBox } from './context.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'
import { watchMemory } from './memory-peak.ts'
import { type BenchStream, openBenchStream, streamQuery } from './stream-client.ts'

/** Benchmarks commands over WebSockets, to their end, keystroke by keystroke, and in bulk. */
export async function benchStreams(context: BenchContext): Promise<void> {
  await createBox(context.client, 'streams')
  await measureEcho(context)
  await measureKeys(context)
  await measureFlood(context)
  await measureSlowReader(context)
  await deleteBox(context.client, 'streams')
}

async function measureEcho(context: BenchContext): Promise<void> {
  const echo = async (): Promise<void> => {
    const stream = await open(context, ['echo', 'hi'])
    if ((await stream.ended) !== 0 || stream.received() !== 3) throw new Error('echo said something else')
  }
  await timeEach(WARM_UPS, echo)
  const ours = await timeEach(ROUNDS, echo)
  report('WebSocket exec echo: connect → status', summary(ours), '≤ 16 ms', percentile(ours, 0.5) <= 16)
  const { docker } = context
  await docker.createAndStart('streams')
  await timeEach(WARM_UPS, () => docker.exec('streams'))
  const theirs = await timeEach(ROUNDS / 2, () => docker.exec('streams'))
  await docker.remove('streams')
  const ratio = percentile(theirs, 0.5) / percentile(ours, 0.5)
  report("docker's API exec echo", `${summary(theirs)}; ${ratio.toFixed(1)}× ours`, '≥ 2.5×', ratio >= 2.5)
}

async function measureKeys(context: BenchContext): Promise<void> {
  const stream = await open(context, ['cat'], { stdin: 'true', tty: 'true' })
  let onEcho: () => void = () => undefined
  stream.onOutput(() => onEcho())
  const press = (): Promise<void> =>
    new Promise((resolve) => {
      onEcho = resolve
      stream.send(KEY)
    })
  await timeEach(WARM_UPS, press)
  const values: number[] = []
  for (let i = 0; i < KEYS; i++) {
    values.push(await timeOnce(press))
    // No typist is faster, and a terminal line holds 4,096 characters.
    if (i % 20 === 0) await sleep(2)
    if (i % 1000 === 999) stream.send(LINE_KILL)
  }
  stream.leave()
  const [p50, p99] = [percentile(values, 0.5), percentile(values, 0.99)]
  const measured = `p50 ${p50.toFixed(2)} / p99 ${p99.toFixed(2)} ms (n=${values.length})`
  report('keystroke echo in a terminal', measured, '≤ 1.5 / 5 ms', p50 <= 1.5 && p99 <= 5)
}

async function measureFlood(context: BenchContext): Promise<void> {
  for (const where of ['front', 'agent'] as const) {
    const memory = watchMemory(context.service.agentPid)
    const stream = await open(context, FLOOD, {}, where)
    const ms = await timeOnce(async () => void (await stream.ended))
    const grown = memory.stop()
    if (stream.received() !== FLOOD_BYTES) throw new Error(`only ${stream.received()} bytes came`)
    const rate = FLOOD_BYTES / 1e6 / (ms / 1000)
    const what = where === 'front' ? '1 GiB of stdout, through the front' : "1 GiB of stdout, at the agent's address"
    const target = where === 'agent' ? '≥ 250 MB/s' : 'told'
    report(what, `${rate.toFixed(0)} MB/s`, target, where === 'front' || rate >= 250)
    report("  the agent's memory", `+ ${grown.toFixed(1)} MB`, '≤ + 40 MB', grown <= 40)
  }
}

async function measureSlowReader(context: BenchContext): Promise<void> {
  const stream = await open(context, ['cat', '/dev/zero'], {}, 'agent')
  await sleep(1_000)
  const memory = watchMemory(context.service.agentPid)
  const begun = performance.now()
  let taken = 0
  const isAhead = (): boolean => taken > (performance.now() - begun) * SLOW_BYTES_PER_MS
  stream.onOutput((piece) => {
    taken += piece.length
    if (isAhead()) stream.pause()
  })
  const timer = setInterval(() => {
    if (!isAhead()) stream.resume()
  }, 20)
  await sleep(SLOW_MS)
  clearInterval(timer)
  const grown = memory.stop()
  stream.leave()
  const rate = taken / 1e6 / (SLOW_MS / 1000)
  report(`30 s with a reader at ${rate.toFixed(1)} MB/s: agent`, `+ ${grown.toFixed(1)} MB`, '≤ + 5 MB', grown <= 5)
}

function open(
  { service }: BenchContext,
  command: readonly string[],
  more: Record<string, string> = {},
  where: 'front' | 'agent' = 'front',
): Promise<BenchStream> {
  const origin = where === 'front' ? service.url : service.dataUrl
  return openBenchStream(`${origin}${boxPath('streams')}/exec/ws?${streamQuery(command, more)}`, service.adminToken)
}

const ROUNDS = 200
const WARM_UPS = 10
const KEYS = 2000
const KEY = Buffer.from('x')
const LINE_KILL = Buffer.from('\u0015')
const FLOOD_BYTES = 1024 ** 3
const FLOOD = ['dd', 'if=/dev/zero', 'bs=256k', `count=${FLOOD_BYTES / 256 / 1024}`]
const SLOW_MS = 30_000
const SLOW_BYTES_PER_MS = 1000

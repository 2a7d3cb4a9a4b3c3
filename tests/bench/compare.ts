import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../../infra/commands.ts'
import { type CallOptions, type Client, createClient } from '../helpers/front/client.ts'
import { BENCH_SETTINGS, boxPath, changePower, createBox, deleteBox, execEcho, forkBox } from './context.ts'
import { percentile, timeOnce } from './figures.ts'
import { openStream, streamQuery } from './stream-client.ts'

/** A service that runs from a checkout. */
interface Side {
  client: Client
  url: string
  token: string
  close(): Promise<void>
}

/** Milliseconds of one step at both, pair by pair. */
interface Times {
  other: number[]
  own: number[]
}

/**
 * Compares this checkout with another, such as a clone of an earlier commit with its packages installed. Both services run, and take
 * each step in turns; the ratio is the median of the pairs', so that it bears a machine whose speed varies. The second of two equal
 * services is up to 7 % slower at some steps: half of the pairs are taken in each order of starting.
 */
export async function benchCompare(directory: string | undefined): Promise<void> {
  if (directory === undefined) throw new Error('usage: npm run bench -- compare DIRECTORY')
  const other = resolve(process.env['INIT_CWD'] ?? '.', directory)
  if (other === ROOT) throw new Error(`${other} is this checkout; give the directory of another.`)
  const times = Object.keys(STEPS).map((): Times => ({ other: [], own: [] }))
  for (const order of [
    [other, ROOT],
    [ROOT, other],
  ]) {
    const sides: Side[] = []
    try {
      for (const each of order) sides.push(await startSide(each))
      for (const { client } of sides) await prepare(client)
      const pair = sides.map((side, i) => ({ side, isOwn: order[i] === ROOT }))
      for (const [i, step] of Object.values(STEPS).entries()) await timeStep(step, pair, times[i])
    } finally {
      for (const side of sides) await side.close()
    }
  }
  for (const [i, what] of Object.keys(STEPS).entries()) reportStep(what, times[i])
}

async function timeStep({ pairs, act }: Step, sides: { side: Side; isOwn: boolean }[], times?: Times): Promise<void> {
  for (let i = 0; i < pairs / 2 + WARM_UPS; i++)
    for (const { side, isOwn } of i % 2 === 0 ? sides : sides.toReversed()) {
      const ms = await timeOnce(() => act(side, i))
      if (i >= WARM_UPS) times?.[isOwn ? 'own' : 'other'].push(ms)
    }
}

function reportStep(what: string, { other, own }: Times = { other: [], own: [] }): void {
  const ratios = own.map((ms, i) => ms / (other[i] ?? Number.NaN))
  const ratio = percentile(ratios, 0.5)
  const figures = (values: readonly number[]): string =>
    `${percentile(values, 0.5).toFixed(2)} / ${percentile(values, 0.95).toFixed(2)} ms`
  const line = `${what.padEnd(30)} other ${figures(other).padEnd(18)} this ${figures(own).padEnd(18)}`
  process.stdout.write(`${line} × ${ratio.toFixed(3)} (n=${own.length}) ${ratio <= 1.05 ? 'holds' : 'SLOWER'}\n`)
}

/** Starts the service of a checkout by its own helper, with its own packages. */
async function startSide(directory: string): Promise<Side> {
  const command = ['infra/with-node.sh', 'test', '--input-type=module-typescript', '-e', HOLD]
  const child = spawn('bash', command, { cwd: directory, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise((settle) => child.once('exit', settle))
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith(READY)) continue
    const { url, token } = JSON.parse(line.slice(READY.length)) as { url: string; token: string }
    const client = createClient(
      () => url,
      () => token,
    )
    const close = async (): Promise<void> => {
      child.stdin.end()
      await ended
    }
    return { client, url, token, close }
  }
  throw new Error(`The service of ${directory} did not start.`)
}

async function prepare(client: Client): Promise<void> {
  await createBox(client, 'warm')
  await ask(client, 'POST', DATA, { body: { name: 'volume', size_gb: 1 } })
}

async function ask(client: Client, method: string, path: string, options: CallOptions = {}): Promise<void> {
  const { status, text } = await client.call(method, path, options)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
}

async function streamEcho({ url, token }: Side): Promise<void> {
  const stream = await openStream(`${url}${boxPath('warm')}/exec/ws?${streamQuery(['echo', 'hi'])}`, token)
  if ((await stream.ended) !== 0) throw new Error('the echo failed')
}

interface Step {
  /** Number of pairs that are timed. */
  pairs: number
  act(side: Side, index: number): Promise<void>
}

const DATA = '/v1/projects/bench/data'
const FILE = { headers: { 'content-type': 'application/octet-stream' }, raw: Buffer.alloc(1024, 'x') }
const WARM_UPS = 10
const READY = 'ready '
const HOLD = `
const { startService } = await import(process.cwd() + '/tests/helpers/service.ts')
const settings = ${JSON.stringify({ ...BENCH_SETTINGS, BOXYARD_POOL_GB: '4', BOXYARD_BASES: '' })}
const service = await startService({ settings })
console.log('${READY}' + JSON.stringify({ url: service.url, token: service.adminToken }))
process.stdin.resume().once('end', () => service.close().then(() => process.exit(0)))
`

const STEPS: Record<string, Step> = {
  'read a box': { pairs: 400, act: ({ client }) => ask(client, 'GET', boxPath('warm')) },
  'list boxes': { pairs: 400, act: ({ client }) => ask(client, 'GET', '/v1/projects/bench/boxes') },
  'exec echo': { pairs: 400, act: ({ client }) => execEcho(client, 'warm') },
  'exec echo over a WebSocket': { pairs: 300, act: streamEcho },
  'create → first exec': {
    pairs: 200,
    act: async ({ client }, i) => {
      await createBox(client, `box-${i}`)
      await execEcho(client, `box-${i}`)
    },
  },
  delete: { pairs: 200, act: ({ client }, i) => deleteBox(client, `box-${i}`) },
  'stop → resume → first exec': {
    pairs: 100,
    act: async ({ client }) => {
      await changePower(client, 'warm', 'stop')
      await changePower(client, 'warm', 'resume')
      await execEcho(client, 'warm')
    },
  },
  'fork of a running box': { pairs: 200, act: ({ client }, i) => forkBox(client, `fork-${i}`, 'warm') },
  'delete of a fork': { pairs: 200, act: ({ client }, i) => deleteBox(client, `fork-${i}`) },
  'update of the limits': {
    pairs: 200,
    act: ({ client }, i) => ask(client, 'PUT', boxPath('warm'), { body: { config: { ram_mb: 256 + i } } }),
  },
  'attach + detach of a volume': {
    pairs: 200,
    act: async ({ client }) => {
      await ask(client, 'POST', `${DATA}/volume/attach`, { body: { box: 'warm', path: '/mnt/volume' } })
      await ask(client, 'POST', `${DATA}/volume/detach`, { body: { box: 'warm' } })
    },
  },
  'snapshot + delete of it': {
    pairs: 200,
    act: async ({ client }, i) => {
      await ask(client, 'POST', `${boxPath('warm')}/snapshots`, { body: { name: `shot-${i}` } })
      await ask(client, 'DELETE', `${boxPath('warm')}/snapshots/shot-${i}`)
    },
  },
  'write 1 KiB': {
    pairs: 400,
    act: ({ client }) => ask(client, 'PUT', `${boxPath('warm')}/files/write?path=/root/file`, FILE),
  },
  'read 1 KiB': {
    pairs: 400,
    act: ({ client }) => ask(client, 'GET', `${boxPath('warm')}/files/read?path=/root/file`),
  },
}

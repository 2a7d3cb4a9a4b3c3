import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { ROOT } from '../../infra/commands.ts'
import { createClient } from '../helpers/front/client.ts'
import { prepare, type Service, STEPS, type Step } from './compare-steps.ts'
import { BENCH_SETTINGS } from './context.ts'
import { judge, percentile, timeOnce } from './figures.ts'

interface Side extends Service {
  close(): Promise<void>
}

/** Milliseconds of one step at both services, by pair. */
interface Times {
  other: number[]
  own: number[]
}

/**
 * Compares this checkout with another, such as a clone of an earlier commit with its packages installed. Both services run, and take each
 * step alternately. The ratio is the median of all pairs, which tolerates a machine of varying speed. The second of two equal services is
 * up to 7 % slower at some steps, so half of the pairs run in each order of starting.
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
      for (const side of sides) await prepare(side)
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
  process.stdout.write(`${line} × ${ratio.toFixed(3)} (n=${own.length}) ${judge(ratio <= 1.05, 'SLOWER')}\n`)
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

const WARM_UPS = 10
const READY = 'ready '
const HOLD = `
const { startService } = await import(process.cwd() + '/tests/helpers/service.ts')
const settings = ${JSON.stringify({ ...BENCH_SETTINGS, BOXYARD_POOL_GB: '4', BOXYARD_BASES: '' })}
const service = await startService({ settings })
console.log('${READY}' + JSON.stringify({ url: service.url, token: service.adminToken }))
process.stdin.resume().once('end', () => service.close().then(() => process.exit(0)))
`

import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchContext, createBox, deleteBox, forkBox, shellIn } from './context.ts'
import { percentile, report, timeOnce } from './figures.ts'

/** Times 100 concurrent forks of one running box, until all of them run. */
export async function benchForkBurst({ client }: BenchContext): Promise<void> {
  await createBox(client, 'source')
  await shellIn(client, 'source', 'head -c 1000000 /dev/urandom > /root/data')
  let failures = 0
  const values: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const names = NAMES.map((name) => `${name}-${round}`)
    const fork = (name: string): Promise<void> =>
      forkBox(client, name, 'source').catch((error: unknown) => {
        failures += 1
        process.stderr.write(`${name}: ${String(error)}\n`)
      })
    values.push(await timeOnce(async () => void (await Promise.all(names.map(fork)))))
    await Promise.all(names.map((name) => deleteBox(client, name)))
    await sleep(PAUSE_MS)
  }
  await deleteBox(client, 'source')
  const seconds = values.map((ms) => (ms / 1000).toFixed(2)).join(', ')
  const isFine = percentile(values, 0.5) <= 2000 && failures === 0
  report('100 forks at once → all running', `${seconds} s, ${failures} failures`, '2 s; 0', isFine)
}

const ROUNDS = 3
// Lets the cleanup of deleted boxes finish.
const PAUSE_MS = 5000
const NAMES = Array.from({ length: 100 }, (_, i) => `fork-${i}`)

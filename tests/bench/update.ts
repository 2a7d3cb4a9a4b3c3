import { type BenchContext, boxPath, createBox, deleteBox } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Times changes of CPU and memory of a running box, back and forth. */
export async function benchUpdate({ client }: BenchContext): Promise<void> {
  await createBox(client, 'update')
  const update = async (round: number): Promise<void> => {
    const config = round % 2 === 0 ? { cpus: 0.5, ram_mb: 256 } : { cpus: 1, ram_mb: 512 }
    const { status, body, text } = await client.put(boxPath('update'), { config })
    if (status !== 200 || body.config.ram_mb !== config.ram_mb) throw new Error(`update: ${status} ${text}`)
  }
  await timeEach(2, update)
  const values = await timeEach(ROUNDS, update)
  report('update of cpu and memory, running', summary(values), '10 ms', percentile(values, 0.5) <= 10)
  await deleteBox(client, 'update')
}

const ROUNDS = 60

import { type BenchContext, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Times attaching a data volume to a running box and detaching it. These are two requests, one after the other. */
export async function benchMounts({ client }: BenchContext): Promise<void> {
  await createBox(client, 'mounts')
  const made = await client.post(DATA, { name: 'volume', size_gb: 1 })
  if (made.status !== 201) throw new Error(`create volume: ${made.status} ${made.text}`)
  const attach = async (): Promise<void> => {
    const { status, body, text } = await client.post(`${DATA}/volume/attach`, { box: 'mounts', path: '/mnt/volume' })
    if (status !== 200 || body.data_mounts.length !== 1) throw new Error(`attach: ${status} ${text}`)
  }
  const detach = async (): Promise<void> => {
    const { status, body, text } = await client.post(`${DATA}/volume/detach`, { box: 'mounts' })
    if (status !== 200 || body.data_mounts.length !== 0) throw new Error(`detach: ${status} ${text}`)
  }
  await attach()
  await shellIn(client, 'mounts', 'echo kept > /mnt/volume/file')
  await detach()
  const values = await timeEach(ROUNDS, async () => {
    await attach()
    await detach()
  })
  await attach()
  const kept = await shellIn(client, 'mounts', 'cat /mnt/volume/file')
  if (kept !== 'kept\n') throw new Error(`the volume lost its file: ${kept}`)
  report('attach + detach on a running box', summary(values), '8 ms', percentile(values, 0.5) <= 8)
  await deleteBox(client, 'mounts')
  await client.delete(`${DATA}/volume`)
}

const ROUNDS = 60
const DATA = '/v1/projects/bench/data'

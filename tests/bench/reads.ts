import autocannon from 'autocannon'
import { type BenchContext, boxPath, createBox, deleteBox } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Times reads of one box, one at a time and with 20 in flight. */
export async function benchReads({ service, client }: BenchContext): Promise<void> {
  await createBox(client, 'read')
  const get = async (): Promise<void> => {
    const { status } = await client.get(boxPath('read'))
    if (status !== 200) throw new Error(`get: ${status}`)
  }
  await timeEach(500, get)
  const alone = await timeEach(1000, get)
  report('GET box, one after the other', summary(alone), '1 ms', percentile(alone, 0.5) <= 1)
  const options = {
    url: `${service.url}${boxPath('read')}`,
    connections: 20,
    headers: { authorization: `Bearer ${service.adminToken}` },
  }
  await autocannon({ ...options, duration: 3 })
  const result = await autocannon({ ...options, duration: 8 })
  const rate = result.requests.average
  const bad = result.non2xx + result.errors
  report('GET box, 20 in flight', `${rate.toFixed(0)}/s, ${bad} failures`, '≥ 4,000/s', rate >= 4000 && bad === 0)
  await deleteBox(client, 'read')
}

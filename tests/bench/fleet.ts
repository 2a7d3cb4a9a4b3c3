import { setTimeout as sleep } from 'node:timers/promises'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { startService } from '../helpers/service.ts'
import { percentile, report, summary, timeOnce } from './figures.ts'

/**
 * Measures a fleet of three cells on this machine, with a real API server and etcd. Times a call through another entry point, a create, a
 * list over all cells, and the delay until every cell refuses a revoked token.
 */
export async function benchFleet(): Promise<void> {
  const fleet = await startFleet(['aa', 'bb', 'cc'], { BOXYARD_POOL_GB: '2', BOXYARD_BOXES_MAX: '1000' })
  try {
    await benchCalls(fleet)
    await benchCreates(fleet)
    await benchRevocations(fleet)
    await benchLists(fleet)
  } finally {
    await fleet.close()
  }
}

/** Times the same call through the owner's own entry point and through another, alternately. */
async function benchCalls({ cells }: FleetOfTests): Promise<void> {
  const [owner, other] = pairOf(cells)
  await made(owner.client.post(BOXES, { name: 'called', node: owner.node }))
  const [own, passed]: [number[], number[]] = [[], []]
  for (let i = -WARM_UP; i < CALLS; i++) {
    const first = await timeOnce(() => got(owner.client.get(`${BOXES}/called`)))
    const second = await timeOnce(() => got(other.client.get(`${BOXES}/called`)))
    if (i < 0) continue
    own.push(first)
    passed.push(second)
  }
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(passed, share) - percentile(own, share))
  const text = `p50 +${Number(p50).toFixed(2)}, p99 +${Number(p99).toFixed(2)} ms (own ${summary(own)}, p99 ${percentile(own, 0.99).toFixed(1)} ms)`
  report('fleet: a call through another door', text, '+1 / +2 ms', Number(p50) <= 1 && Number(p99) <= 2)
}

/** Times creates through each entry point in sequence, against a standalone agent. */
async function benchCreates({ cells }: FleetOfTests): Promise<void> {
  const alone = await startService()
  const client = createClient(
    () => alone.url,
    () => alone.adminToken,
  )
  try {
    const [single, fleet]: [number[], number[]] = [[], []]
    for (let i = -WARM_UP; i < CREATES; i++) {
      const door = cells[(i + WARM_UP) % cells.length]?.client ?? client
      for (const [times, through] of [[single, client] as const, [fleet, door] as const]) {
        const ms = await timeOnce(async () => void (await made(through.post(BOXES, { name: `made-${i + WARM_UP}` }))))
        if (i >= 0) times.push(ms)
        await through.delete(`${BOXES}/made-${i + WARM_UP}`)
      }
    }
    const added = percentile(fleet, 0.5) - percentile(single, 0.5)
    const text = `${summary(fleet)}, +${added.toFixed(1)} ms (alone ${summary(single)})`
    report('fleet: create through any door', text, '150, +15 ms', percentile(fleet, 0.5) <= 150 && added <= 15)
  } finally {
    await alone.close()
  }
}

/** Times from the response to a revocation until every other entry point refuses the token. */
async function benchRevocations({ cells }: FleetOfTests): Promise<void> {
  const times: number[] = []
  const [first, ...others] = cells
  if (first === undefined) return
  for (let i = 0; i < REVOCATIONS; i++) {
    const minted = await made(
      first.client.post('/v1/tokens', { name: 'brief', projects: ['demo'], permissions: ['read'] }),
    )
    const token = String(minted['token'])
    for (const { client } of others) await got(client.get(BOXES, { token }))
    await first.client.delete(`/v1/tokens/${String(minted['id'])}`)
    times.push(
      await timeOnce(() => Promise.all(others.map(({ client }) => untilRefused(client, token))).then(() => undefined)),
    )
  }
  const p99 = percentile(times, 0.99)
  report('fleet: revoked → refused at all doors', `${summary(times)}, p99 ${p99.toFixed(1)} ms`, 'p99 1 s', p99 <= 1000)
}

async function untilRefused(client: Client, token: string): Promise<void> {
  while ((await client.get(BOXES, { token })).status !== 401) await sleep(1)
}

/** Times a list of 1,000 boxes over all cells. */
async function benchLists({ cells }: FleetOfTests): Promise<void> {
  const path = '/v1/projects/many/boxes'
  const create = async (index: number): Promise<void> => {
    const { client } = cells[index % cells.length] ?? pairOf(cells)[0]
    await made(client.post(path, { name: `box-${index}` }))
    await client.post(`${path}/box-${index}/stop`)
  }
  for (let i = 0; i < LISTED; i += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => create(i + k)))
  const times: number[] = []
  for (let i = -WARM_UP; i < LISTS; i++) {
    const { client } = cells[(i + WARM_UP) % cells.length] ?? pairOf(cells)[0]
    const ms = await timeOnce(async () => {
      const answer = await client.get(`${path}?max_results=${LISTED}`)
      const { boxes } = answer.body as { boxes: unknown[] }
      if (boxes.length !== LISTED) throw new Error(`${boxes.length} boxes are listed`)
    })
    if (i >= 0) times.push(ms)
  }
  report('fleet: list of 1,000 boxes over 3 cells', summary(times), '50 ms', percentile(times, 0.5) <= 50)
}

function pairOf(cells: readonly CellOfTests[]): [CellOfTests, CellOfTests] {
  const [first, second] = cells
  if (first === undefined || second === undefined) throw new Error('The fleet has no two cells.')
  return [first, second]
}

async function made(answer: ReturnType<Client['post']>): Promise<Record<string, unknown>> {
  const { status, text, body } = await answer
  if (status !== 201) throw new Error(`not made: ${status} ${text}`)
  return body as Record<string, unknown>
}

async function got(answer: ReturnType<Client['get']>): Promise<void> {
  const { status, text } = await answer
  if (status !== 200) throw new Error(`not answered: ${status} ${text}`)
}

const BOXES = '/v1/projects/demo/boxes'
const WARM_UP = 20
const CALLS = 1_000
const CREATES = 60
const REVOCATIONS = 100
const LISTED = 1_000
const AT_ONCE = 8
const LISTS = 100

import { beforeEach, describe, expect, test } from '@jest/globals'
import { createEventScans, type EventScans } from '../../../agent/core/events/scans.ts'
import type { EventScan } from '../../../agent/ports/store/cell-history.ts'
import type { EventPage, EventQuery, InTurn } from '../../../agent/ports/store/events.ts'

const NEWEST = 100
const SCOPE = { projects: ['demo'], shared: false, admin: false }
const never = new AbortController().signal
let scans: EventScans
/** First type of each query, in read order. */
let reads: string[]
let oldest: number

/** A store that examines one event per read. The type `tenth.` matches every tenth event, other types none. */
async function readOne({ types: [type = ''], after }: EventQuery): Promise<EventPage> {
  reads.push(type)
  if (after >= NEWEST) return { events: [], through: after, hasMore: false }
  const number = after + 1
  const events = type === 'tenth.' && number % 10 === 0 ? [{ number, audience: 'demo', record: {} as never }] : []
  return { events, through: number, hasMore: number < NEWEST }
}

beforeEach(() => {
  reads = []
  oldest = 1
  scans = createEventScans({ read: readOne, bounds: async () => ({ oldest, newest: NEWEST }) })
})

const atOnce: InTurn = (work) => work((part) => part())

function scan(account: string, changes: Partial<EventScan> = {}): Promise<EventPage> {
  return scans.read({
    scope: SCOPE,
    types: [account],
    after: 0,
    limit: 10,
    account,
    inTurn: atOnce,
    signal: never,
    ...changes,
  })
}

describe('scans of one account', () => {
  test('let those of others go between, and these are answered while they still wait', async () => {
    const answered: string[] = []
    const noted = async (account: string, page: Promise<EventPage>): Promise<void> => {
      expect(await page).toEqual({ events: [], through: NEWEST, hasMore: false })
      answered.push(account)
    }
    const loud = Array.from({ length: 16 }, () => noted('loud', scan('loud')))
    await Promise.all([noted('calm', scan('calm')), noted('quiet', scan('quiet', { after: NEWEST - 1 }))])
    expect(answered).toEqual(['quiet', 'calm'])
    // A scan queues again only after its turn, behind the scans that already wait. So all 16 together get two turns for each turn of
    // `calm`.
    const meanwhile = reads.filter((type) => type === 'loud').length
    expect(meanwhile).toBeLessThanOrEqual(2 * NEWEST + 2)
    await Promise.all(loud)
    expect(reads.filter((type) => type === 'loud')).toHaveLength(16 * NEWEST)
  })

  test('are charged to it, turn by turn, and not what they wait for', async () => {
    let [turns, charged] = [0, 0]
    const inTurn: InTurn = (work) => {
      turns++
      return work((part) => {
        const before = reads.length
        const read = part()
        charged += reads.length - before
        return read
      })
    }
    await scan('tenth.', { inTurn })
    expect([turns, charged]).toEqual([20, 20])
  })

  test('give way to all other work after each turn', async () => {
    const order: string[] = []
    const other = new Promise<void>((resolve) => {
      const look = (rounds: number): void => {
        order.push(`seen ${reads.length}`)
        if (rounds === 0) resolve()
        else setImmediate(look, rounds - 1)
      }
      setImmediate(look, 5)
    })
    const work = scan('loud')
    await other
    expect(reads.length).toBeLessThan(NEWEST)
    await work
  })
})

describe('a page', () => {
  test('ends when it is full, or with the last event', async () => {
    const numbers = async (changes: Partial<EventScan>): Promise<number[]> =>
      (await scan('tenth.', changes)).events.map(({ number }) => number)
    expect(await numbers({ limit: 1, after: 15 })).toEqual([20])
    expect(await numbers({ after: 85 })).toEqual([90, 100])
  })

  test('ends after 20 turns if something matched by then, else goes on', async () => {
    const page = await scan('tenth.')
    expect([page.events.length, page.through, page.hasMore]).toEqual([2, 20, true])
    expect((await scan('none.')).through).toBe(NEWEST)
  })

  test('ends where it is when it is told to', async () => {
    const end = new AbortController()
    const page = scan('loud', { signal: end.signal })
    end.abort()
    expect((await page).through).toBeLessThan(NEWEST)
  })

  test('is refused if events were pruned that it has not come to', async () => {
    oldest = 50
    await expect(scan('loud')).rejects.toMatchObject({ code: 'cursor_expired' })
    expect((await scan('loud', { after: 49 })).through).toBe(NEWEST)
    oldest = NEWEST + 1
    expect((await scan('loud', { after: NEWEST })).hasMore).toBe(false)
  })
})

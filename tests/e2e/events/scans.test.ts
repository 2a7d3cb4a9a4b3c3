import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from '@jest/globals'
import { useOwnService } from '../../helpers/own-service.ts'

const { client, service } = useOwnService()
// With this many rows, a busy machine still answers the last of twelve reads within the front's timeout of 30 s.
const ROWS = 80_000
const NONE = Array.from(
  { length: 64 },
  (_, index) => `none_${String.fromCharCode(97 + (index % 26), 97 + index / 26)}.*`,
)

/** Adds alternating events of two projects, as many as a week may bring. */
function addEvents(): void {
  const database = new DatabaseSync(join(service().dataDir, 'boxyard.db'), { timeout: 5_000 })
  database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
    INSERT INTO events (at, type, audience, record)
      SELECT ${Date.now()}, 'box.running', iif(i % 2, 'loud', 'calm'), json_object('id', 'evt_' || i) FROM n`)
  database.close()
}

test('who reads all events for types that there are none of holds up nobody', async () => {
  expect((await client.post('/v1/projects/calm/boxes', { name: 'it' })).status).toBe(201)
  const readerOf = async (project: string): Promise<() => Promise<void>> => {
    const { token } = (await client.post('/v1/tokens', { name: 't', projects: [project], permissions: ['read'] })).body
    return async () => {
      const { status, body } = await client.get(`/v1/projects/${project}/events?type=${NONE.join(',')}`, { token })
      expect([status, body.events, body.has_more]).toEqual([200, [], false])
    }
  }
  const [loud, calm] = [await readerOf('loud'), await readerOf('calm')]
  addEvents()
  const answered: string[] = []
  const note = async (name: string, work: Promise<unknown>): Promise<void> => {
    await work
    answered.push(name)
  }
  const readers = Array.from({ length: 12 }, () => note('loud', loud()))
  const runs = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await note('exec', client.shell('calm', 'it', 'true'))
  }
  // This read is as long as each of the others, but its token does not wait for them.
  await Promise.all([note('calm', calm()), runs()])
  expect(answered.toSorted()).toEqual(['calm', 'exec', 'exec', 'exec'])
  await Promise.all(readers)
})

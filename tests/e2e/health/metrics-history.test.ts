import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/history/boxes'

interface Point {
  at: string
  cpu_cores: number
  memory_bytes: number
  cache_bytes: number
  storage_bytes: number
  received_bytes_per_second: number
  sent_bytes_per_second: number
}

async function pointsOf(name: string, query = ''): Promise<Point[]> {
  const { status, body } = await client.get(`${boxes}/${name}/metrics/history${query}`)
  expect([status, body.box]).toEqual([200, name])
  return body.points
}

const file = (): string => join(service().dataDir, 'metrics.db')

test('a box has points of the minutes in which it ran, which an agent that is killed leaves behind', async () => {
  await client.post(boxes, { name: 'busy', config: { cpus: 0.5, ram_mb: 64 } })
  await client.shell('history', 'busy', 'while :; do :; done', { no_hup: true })
  expect(await pointsOf('busy')).toEqual([])
  // Needs two samples, at the next full minutes.
  const [point] = await untilSucceeds(async () => {
    const points = await pointsOf('busy')
    expect(points).toHaveLength(1)
    return points
  }, 300_000)
  expect(point).toEqual({
    at: expect.stringMatching(/:00\.000Z$/),
    cpu_cores: expect.any(Number),
    memory_bytes: expect.any(Number),
    cache_bytes: expect.any(Number),
    storage_bytes: expect.any(Number),
    received_bytes_per_second: expect.any(Number),
    sent_bytes_per_second: expect.any(Number),
  })
  expect(point?.cpu_cores).toBeGreaterThan(0)
  expect(point?.cpu_cores).toBeLessThan(0.6)
  expect(point?.memory_bytes).toBeGreaterThan(50_000)
  expect(Math.abs(Date.now() - Date.parse(String(point?.at)))).toBeLessThan(120_000)
  expect(statSync(file()).mode & 0o777).toBe(0o600)

  await client.post(boxes, { name: 'copy', fork: 'busy' })
  expect(await pointsOf('copy')).toEqual([])

  await service().killAgent()
  await service().startAgent()
  expect(await pointsOf('busy')).toContainEqual(point)

  await client.post(`${boxes}/busy/stop`)
  expect(await pointsOf('busy')).toContainEqual(point)
  expect((await client.delete(`${boxes}/busy`)).status).toBe(204)
  expect((await client.get(`${boxes}/busy/metrics/history`)).status).toBe(404)
  await client.post(boxes, { name: 'busy', config: { ram_mb: 64 } })
  expect(await pointsOf('busy')).toEqual([])
}, 600_000)

test('a file that is damaged or gone takes nothing else along', async () => {
  await service().killAgent()
  writeFileSync(file(), 'no database'.repeat(1000))
  await service().startAgent()
  expect(await pointsOf('busy', '?step_seconds=600')).toEqual([])
  await service().killAgent()
  for (const end of ['', '-wal', '-shm']) rmSync(`${file()}${end}`, { force: true })
  await service().startAgent()
  expect(await pointsOf('busy')).toEqual([])
  expect(existsSync(file())).toBe(true)
  expect((await client.get('/healthz')).body.status).toBe('ok')
})

test('other steps are refused', async () => {
  const refused = await client.get(`${boxes}/busy/metrics/history?step_seconds=61`)
  expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request'])
  expect((await client.get(`${boxes}/none/metrics/history`)).body.code).toBe('box_not_found')
})

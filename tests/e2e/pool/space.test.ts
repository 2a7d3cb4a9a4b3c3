import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from '@jest/globals'
import { useOwnService } from '../../helpers/own-service.ts'
import { damageBlock } from '../../helpers/pool/bad-block.ts'
import { defineSnapshotDiffSuite } from '../snapshots/diff-suite.ts'
import { defineStorageSuite } from './storage-suite.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/lost/boxes'

describe('through the standalone front', () => {
  defineSnapshotDiffSuite(client)
  defineStorageSuite(client)
})

describe('faults of the storage', () => {
  test('a subvolume without a record is reported with its size', async () => {
    const { body: box } = await client.post(boxes, { name: 'forgotten', config: { ram_mb: 64 } })
    await client.shell('lost', 'forgotten', 'head -c 131072 /dev/urandom > /own; sync')
    await client.post(`${boxes}/forgotten/stop`)
    await service().killAgent('SIGTERM')
    const database = new DatabaseSync(join(service().dataDir, 'boxyard.db'))
    database.exec(`DELETE FROM boxes WHERE name = 'forgotten'`)
    database.close()
    await service().startAgent()
    const { body } = await client.get('/v1/storage')
    expect(body.orphans).toEqual([
      { subvolume: `sub_${box.id}`, size_bytes: expect.any(Number), unique_bytes: expect.any(Number) },
    ])
    expect(body.orphans[0].unique_bytes).toBeGreaterThanOrEqual(128 * 1024)
    expect(body.orphans[0].size_bytes).toBeGreaterThanOrEqual(body.orphans[0].unique_bytes)
  })

  test('a damaged block is found by a scrub, and health gives a remedy', async () => {
    await client.post(boxes, { name: 'damaged', config: { ram_mb: 64 } })
    const halves = 'head -c 32768 /dev/urandom'
    const mark = `mark-${Date.now()}-`
    await client.shell('lost', 'damaged', `(${halves}; printf '${mark}%s' here; ${halves}) > /file; sync`)
    damageBlock(join(service().dataDir, 'pool.img'), `${mark}here`)
    expect((await client.post('/v1/storage/scrub')).status).toBe(202)
    for (let isRunning = true; isRunning; )
      isRunning = (await client.get('/v1/storage')).body.scrub.status === 'running'
    const { body } = await client.get('/v1/storage')
    expect(body.scrub).toMatchObject({ status: 'done', errors: 1 })
    expect(body.pool.device_errors).toMatchObject({ corruptions: 1, writes: 0 })
    const health = (await client.get('/healthz')).body
    expect(health.status).toBe('degraded')
    const faults = health.problems.filter(({ code }: { code: string }) => /^(storage|scrub)_errors$/.test(code))
    expect(faults).toEqual([
      { code: 'storage_errors', evidence: expect.stringContaining('corruptions 1'), remedy: expect.any(String) },
      { code: 'scrub_errors', evidence: expect.stringContaining('1 errors'), remedy: expect.any(String) },
    ])
  })
})

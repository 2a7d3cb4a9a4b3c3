import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

describe('nesting', () => {
  let service: TestService
  const boxes = '/v1/projects/nests/boxes'
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const told = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
  const create = (name: string, more: object = {}) =>
    client.post(boxes, { name, config: { ram_mb: 64, storage_gb: 1, nesting: true }, ...more })
  const nests = async (box: string): Promise<boolean> => {
    const { body } = await client.post(`${boxes}/${box}/exec`, {
      shell: 'unshare -Urm true && mount -t tmpfs none /tmp',
    })
    return body.exit_code === 0
  }

  beforeAll(async () => {
    service = await startService()
  })

  afterAll(() => service.close())

  test('is refused unless the operator allows it', async () => {
    expect((await client.get('/v1/config')).body).toMatchObject({
      nesting: false,
      defaults: { config: { nesting: false } },
    })
    const refused = await create('early')
    expect(told(refused)).toEqual([403, 'nesting_not_allowed'])
    expect(refused.body.detail).toContain('BOXYARD_NESTING=true')
    expect((await client.get(`${boxes}/early`)).status).toBe(404)
    const plain = await client.post(boxes, { name: 'plain', config: { ram_mb: 64, storage_gb: 1 } })
    expect(plain.body.config.nesting).toBe(false)
    expect(told(await client.put(`${boxes}/plain`, { config: { nesting: true } }))).toEqual([
      403,
      'nesting_not_allowed',
    ])
    expect(await nests('plain')).toBe(false)
  })

  test('is in force from the next start, and inherited by forks', async () => {
    await service.killAgent('SIGTERM')
    await service.startAgent({ BOXYARD_NESTING: 'true' })
    expect((await client.get('/v1/config')).body.nesting).toBe(true)
    const changed = await client.put(`${boxes}/plain`, { config: { nesting: true } })
    expect([changed.status, changed.body.config.nesting]).toEqual([200, true])
    expect(await nests('plain')).toBe(false)
    await client.post(`${boxes}/plain/stop`)
    await client.post(`${boxes}/plain/resume`)
    expect(await nests('plain')).toBe(true)
    expect((await client.post(boxes, { name: 'fork', fork: 'plain' })).body.config.nesting).toBe(true)
    expect(await nests('fork')).toBe(true)
    const other = await client.post(boxes, { name: 'other', fork: 'plain', config: { nesting: false } })
    expect(other.body.config.nesting).toBe(false)
    expect(await nests('other')).toBe(false)
  })

  test('holds for detached commands, consoles aside, and over a kill of the agent', async () => {
    const started = await client.post(`${boxes}/fork/exec`, {
      shell: 'sleep 2; unshare -Urm mount -t tmpfs none /tmp && echo nested',
      no_hup: true,
    })
    await service.killAgent()
    await service.startAgent()
    expect(await nests('fork')).toBe(true)
    const ended = await client.get(`${boxes}/fork/exec/${started.body.id}?wait_seconds=20`)
    expect(ended.body).toMatchObject({ status: 'exited', exit_code: 0, stdout: 'nested\n' })
  })

  test('keeps running boxes, and starts none of them again, once it is not allowed any more', async () => {
    await service.killAgent('SIGTERM')
    await service.startAgent({ BOXYARD_NESTING: 'false' })
    expect(await nests('fork')).toBe(true)
    expect((await client.put(`${boxes}/fork`, { tags: { kept: 'yes' } })).status).toBe(200)
    await client.post(`${boxes}/fork/stop`)
    expect(told(await client.post(`${boxes}/fork/resume`))).toEqual([403, 'nesting_not_allowed'])
    expect(told(await client.post(boxes, { name: 'late', fork: 'fork' }))).toEqual([403, 'nesting_not_allowed'])
    expect((await client.put(`${boxes}/fork`, { config: { nesting: false } })).status).toBe(200)
    expect((await client.post(`${boxes}/fork/resume`)).body.status).toBe('running')
    expect(await nests('fork')).toBe(false)
  })
})

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/full/boxes'

beforeAll(async () => {
  service = await startService({
    settings: { BOXYARD_POOL_GB: '0.5', BOXYARD_POOL_STEP_GB: '0', BOXYARD_POOL_RESERVE_PERCENT: '0' },
  })
})

afterAll(async () => {
  await service.close()
})

// dd stops at the first failed write and prints its cause, but busybox' head reads its input to the end.
const fillDisk = 'dd if=/dev/urandom of=/root/fill bs=1M count=1000'
// Keeps writing until the box is gone.
const keepFilling = 'while :; do dd if=/dev/urandom bs=64k count=16 >> /root/fill; done 2> /dev/null'

describe('a box over its quota', () => {
  test('gets EDQUOT at once and can make room for itself', async () => {
    await client.post(boxes, { name: 'small', config: { storage_gb: 0.05 } })
    const fill = await promptly(() => client.shell('full', 'small', fillDisk))
    expect([fill.status, fill.body.status]).toEqual([200, 'exited'])
    expect(fill.body.stderr).toMatch(/Disk quota exceeded/)
    const after = await client.shell('full', 'small', 'rm /root/fill; echo kept > /root/kept; cat /root/kept')
    expect([after.body.stdout, after.body.stderr]).toEqual(['kept\n', ''])
    expect((await client.delete(`${boxes}/small`)).status).toBe(204)
  })
})

describe('a full pool', () => {
  test('is reported by boxes and health, refuses new boxes, and takes deletes that free space', async () => {
    await client.post(boxes, { name: 'filler', config: { storage_gb: 5 } })
    await client.post(boxes, { name: 'neighbour', config: { storage_gb: 5 } })
    expect(await faultCodes()).not.toContain('pool_full')

    const fill = await promptly(() => client.shell('full', 'filler', fillDisk))
    expect([fill.status, fill.body.status]).toEqual([200, 'exited'])
    expect(fill.body.stderr).toMatch(/No space left on device/)

    const going = await client.call('POST', `${boxes}/filler/exec?wait_seconds=0`, { body: { shell: keepFilling } })
    expect(going.status).toBe(202)
    const refused = await promptly(() => client.post(boxes, { name: 'late' }))
    expect([refused.status, refused.body.code]).toEqual([507, 'storage_full'])
    expect(await faultCodes()).toContain('pool_full')
    const neighbour = await promptly(() => client.shell('full', 'neighbour', 'echo alive'))
    expect(neighbour.body.stdout).toBe('alive\n')

    expect((await promptly(() => client.delete(`${boxes}/filler`))).status).toBe(204)
    const created = await createOnceThereIsRoom('late')
    expect([created.status, created.body.status]).toEqual([201, 'running'])
    expect(await faultCodes()).not.toContain('pool_full')
    const wrote = await client.shell('full', 'neighbour', 'echo kept > /root/kept && cat /root/kept')
    expect(wrote.body.stdout).toBe('kept\n')
  })
})

async function faultCodes(): Promise<string[]> {
  const { body } = await client.get('/healthz')
  return body.problems.map(({ code }: { code: string }) => code)
}

async function createOnceThereIsRoom(name: string) {
  const deadline = performance.now() + PROMPT_MS
  for (;;) {
    const created = await client.post(boxes, { name })
    if (created.status !== 507 || performance.now() > deadline) return created
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function promptly<T>(act: () => Promise<T>): Promise<T> {
  const since = performance.now()
  const result = await act()
  expect(performance.now() - since).toBeLessThan(PROMPT_MS)
  return result
}

const PROMPT_MS = 60_000

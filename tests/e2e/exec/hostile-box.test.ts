import { expect, test } from '@jest/globals'
import { useSharedService } from '../../helpers/own-service.ts'

const { client } = useSharedService()
const boxes = '/v1/projects/hostile/boxes'

test("output flooding after a command's end is bounded, and the agent stays quick", async () => {
  const box = `${boxes}/flood`
  const exec = (body: Record<string, unknown>) => client.post(`${box}/exec`, body)
  expect((await client.post(boxes, { name: 'flood' })).status).toBe(201)
  for (let i = 0; i < 5; i++) await exec({ shell: 'yes & echo' })
  const before = Date.now()
  for (let i = 0; i < 5; i++) expect((await exec({ command: ['echo', 'quick'] })).body.stdout).toBe('quick\n')
  expect(Date.now() - before).toBeLessThan(60_000)
  expect((await client.delete(box)).status).toBe(204)
})

test('a fork bomb, a memory hog and a disk filler leave others and the service well', async () => {
  // Another test file may have caused problems on the host.
  const problems = async (): Promise<string[]> =>
    (await client.get('/healthz')).body.problems.map(({ code }: { code: string }) => code)
  const before = await problems()
  await client.post(boxes, { name: 'bad', config: { ram_mb: 64, storage_gb: 0.05 } })
  await client.post(boxes, { name: 'good' })
  const bombs = [
    client.shell('hostile', 'bad', 'b() { b | b & }; b; sleep 2', { timeout_seconds: 3 }),
    client.shell('hostile', 'bad', 'head -c 300m /dev/zero | tail', { timeout_seconds: 10 }),
    client.shell('hostile', 'bad', 'head -c 200000000 /dev/urandom > /root/fill', { timeout_seconds: 20 }),
  ]
  for (let i = 0; i < 5; i++) {
    expect((await client.shell('hostile', 'good', 'echo well')).body.stdout).toBe('well\n')
  }
  const [, hog, fill] = await Promise.all(bombs)
  expect(hog?.body.exit_code).not.toBe(0)
  expect(fill?.body.exit_code).not.toBe(0)
  expect(before).toEqual(expect.arrayContaining(await problems()))
  expect((await client.delete(`${boxes}/bad`)).status).toBe(204)
  expect((await client.delete(`${boxes}/good`)).status).toBe(204)
})

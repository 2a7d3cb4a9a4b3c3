import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { podTableName } from '../../agent/drivers/pods/rules.ts'
import { findPart, startPart, stopPart } from '../../infra/cluster/part-process.ts'
import { instanceOf, limitsInForce } from '../helpers/boxes/world.ts'
import type { Answer } from '../helpers/front/client.ts'
import { keepRunning, pidsOfBox, until } from '../helpers/pods/weather.ts'
import { startWeatherCluster, type WeatherCluster } from '../helpers/pods/weather-cluster.ts'

// Uses its own cluster, because the tests stop its API server.

let weather: WeatherCluster

beforeAll(async () => {
  weather = await startWeatherCluster()
})

afterAll(async () => {
  await weather?.close()
})

/** Returns the response with its duration in ms. */
async function timed(call: Promise<Answer>): Promise<Answer & { ms: number }> {
  const startedAt = performance.now()
  const answer = await call
  return { ...answer, ms: performance.now() - startedAt }
}

/** Checks that every write that needs the cluster fails at once and changes nothing. */
async function expectRefusals(): Promise<void> {
  const { client, boxes } = weather
  const before = (await client.get(boxes)).text
  const refused = await Promise.all([
    timed(client.post(boxes, { name: 'late' })),
    timed(client.post(boxes, { name: 'late', fork: 'steady' })),
    timed(client.post(`${boxes}/steady/stop`)),
    timed(client.post(`${boxes}/asleep/resume`)),
    timed(client.put(`${boxes}/steady`, { config: { cpus: 1 } })),
  ])
  for (const { status, body, ms } of refused) {
    expect({ status, code: body.code, detail: body.detail }).toEqual({
      status: 503,
      code: 'runtime_unavailable',
      detail: "The cluster's API server does not answer.",
    })
    expect(ms).toBeLessThan(REFUSAL_MS)
  }
  expect((await client.get(boxes)).text).toBe(before)
}

async function expectDegraded(): Promise<void> {
  const { status, body, ms } = await timed(weather.client.get('/healthz'))
  const text = expect.stringMatching(/./)
  const outage = expect.objectContaining({ code: 'kubernetes_unreachable', evidence: text, remedy: text })
  expect([status, body]).toEqual([
    200,
    expect.objectContaining({ status: 'degraded', problems: expect.arrayContaining([outage]) }),
  ])
  expect(ms).toBeLessThan(REFUSAL_MS)
}

/** Returns whether the agent's report has a problem. Throws if the front reports that the agent did not answer in time. */
async function hasFault(code: string): Promise<boolean> {
  const { status, body, text } = await weather.client.get('/healthz')
  if (status !== 200) throw new Error(`/healthz answers ${status} ${text}`)
  return body.problems.some((problem: { code: string }) => problem.code === code)
}

/** Restarts the cluster's other parts, which would otherwise retry only after up to a minute. The test measures only the agent. */
async function hurryOthers(): Promise<void> {
  for (const part of ['kube-scheduler', 'kube-controller-manager', 'kubelet'] as const) {
    await stopPart(weather.name, part, 'SIGKILL')
    await startPart(weather.name, part)
  }
}

async function addressOf(box: string): Promise<string> {
  const address = (await weather.run(box, 'hostname -i')).trim()
  if (!isBoxAddress(address)) throw new Error(`${address} of ${box} is not in the packet filter.`)
  return address
}

/** Returns whether the packet filter treats an address as a box's. */
function isBoxAddress(address: string): boolean {
  const set = ['inet', podTableName(instanceOf(weather.service)), 'boxes']
  const { status, stderr } = spawnSync('nft', ['get', 'element', ...set, `{ ${address} }`], { encoding: 'utf8' })
  if (status !== 0 && !stderr.includes('No such file or directory')) throw new Error(stderr)
  return status === 0
}

test('an API server that is away for a minute: boxes go on, writes wait for it, and all heals', async () => {
  const { client, boxes } = weather
  const steady = await weather.createBox('steady')
  for (const name of ['asleep', 'doomed', 'mortal']) await weather.createBox(name)
  await client.post(`${boxes}/asleep/stop`)
  await weather.run('mortal', 'echo kept > /root/data')
  expect((await client.post('/v1/projects/weather/data', { name: 'vol', size_gb: 1 })).status).toBe(201)
  const pids = pidsOfBox(weather, steady)
  const mortal = await weather.getBox('mortal')
  const [init] = pidsOfBox(weather, mortal)
  const mortalAddress = await addressOf('mortal')
  const doomedAddress = await addressOf('doomed')

  await stopPart(weather.name, 'kube-apiserver', 'SIGKILL')
  const awayAt = performance.now()
  const commands = keepRunning(weather, 'steady')
  await until(() => hasFault('kubernetes_unreachable'), 'health tells of it')
  await expectDegraded()
  await expectRefusals()
  // The agent rolls refused changes back.
  await until(() => limitsInForce(weather.service, steady.id).cpus === 0.5, 'its limits are those of its record')
  expect((await client.delete(`${boxes}/doomed`)).status).toBe(204)
  expect((await client.get(`${boxes}/doomed`)).status).toBe(404)
  process.kill(init ?? 0, 'SIGKILL')
  await until(
    async () => (await weather.getBox('mortal')).status !== 'running',
    'a box that ended is not called running',
  )
  // Another pod may get the address before the API server reports it.
  await until(() => !isBoxAddress(mortalAddress), 'the address of a box that ended is no longer of a box')
  await until(() => !isBoxAddress(doomedAddress), 'nor is that of a deleted one')
  const attached = await client.post('/v1/projects/weather/data/vol/attach', { box: 'steady', path: '/mnt/vol' })
  expect(attached.status).toBe(200)
  await weather.run('steady', 'echo data > /mnt/vol/file')
  expect((await client.post('/v1/projects/weather/data/vol/detach', { box: 'steady' })).status).toBe(200)
  await sleep(OUTAGE_MS - (performance.now() - awayAt))
  await expectDegraded()
  await expectRefusals()

  await startPart(weather.name, 'kube-apiserver')
  await hurryOthers()
  // The test sends no request here, because the agent recovers on its own.
  await until(() => pidsOfBox(weather, mortal).length > 0, 'the box that ended runs again')
  expect(await commands.stop()).toBeGreaterThan(20)
  await until(async () => (await weather.faults()).length === 0, 'health is well')
  expect(await weather.run('mortal', 'cat /root/data')).toBe('kept\n')
  await weather.createBox('late')
  await weather.untilAgreed()
  expect(pidsOfBox(weather, steady)).toEqual(pids)
})

test('an API server that takes calls and does not answer counts as unreachable', async () => {
  const pids = pidsOfBox(weather, await weather.getBox('steady'))
  const server = findPart(weather.name, 'kube-apiserver') ?? 0
  process.kill(server, 'SIGSTOP')
  try {
    await until(() => hasFault('kubernetes_unreachable'), 'health tells of it')
    // The first request may detect the outage. Later ones fail at once.
    expect((await weather.client.post(weather.boxes, { name: 'later' })).status).toBe(503)
    await until(async () => {
      const { ms } = await timed(weather.client.post(`${weather.boxes}/asleep/resume`))
      return ms < REFUSAL_MS
    }, 'it is known')
    await expectDegraded()
    await expectRefusals()
    expect(await weather.run('steady', 'echo here')).toBe('here\n')
  } finally {
    process.kill(server, 'SIGCONT')
  }
  await hurryOthers()
  await until(async () => (await weather.client.post(`${weather.boxes}/asleep/resume`)).status === 200, 'a write works')
  await until(async () => (await weather.faults()).length === 0, 'health is well')
  await weather.untilAgreed()
  expect(pidsOfBox(weather, await weather.getBox('steady'))).toEqual(pids)
})

const OUTAGE_MS = 60_000
/** Shorter than the timeout of a request to the API server, so no refusal waited for one. */
const REFUSAL_MS = 9_000

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { limitsInForce } from '../helpers/boxes/world.ts'
import type { Answer } from '../helpers/front/client.ts'
import { startWeather, until, type Weather } from '../helpers/pods/weather.ts'

let weather: Weather

beforeAll(async () => {
  weather = await startWeather()
})

afterAll(async () => {
  await weather?.close()
})

/** Changes the limits. Retries if other changes keep the box busy for longer than a request waits. */
function put(cpus: number, ramMb: number): Promise<Answer> {
  return until(async () => {
    const config = { cpus, ram_mb: ramMb }
    const answer = await weather.client.put(`${weather.boxes}/contested?wait_seconds=25`, { config })
    return answer.body?.code === 'box_busy' ? null : answer
  }, 'the box is not busy')
}

/** Returns the box's limits from the API, the pod and the cgroups. */
async function seen() {
  const { id, config } = await weather.getBox('contested')
  const { limits } = weather.podOf('contested')
  const { cpus, ramMb } = limitsInForce(weather.service, id)
  return { record: { cpus: config.cpus, ramMb: config.ram_mb }, kernel: { cpus, ramMb }, limits }
}

const agreed = (cpus: number, ramMb: number) => ({
  ...{ record: { cpus, ramMb }, kernel: { cpus, ramMb } },
  limits: { cpu: `${cpus * 1000}m`, memory: `${ramMb}Mi` },
})

async function untilAgreed(cpus: number, ramMb: number): Promise<void> {
  const wanted = JSON.stringify(agreed(cpus, ramMb))
  await until(async () => JSON.stringify(await seen()) === wanted, wanted).catch(async (error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(await seen())}`)
  })
}

test('limits that change back and forth end as requested last, in kernel and cluster', async () => {
  await weather.createBox('contested', { config: { cpus: 0.5, ram_mb: 64, storage_gb: 1 } })
  for (const [cpus, ramMb] of [
    [0.6, 80],
    [0.5, 64],
    [0.7, 96],
    [0.5, 64],
  ] as const) {
    expect((await put(cpus, ramMb)).status).toBe(200)
  }
  await untilAgreed(0.5, 64)
})

test('ten changes at once, while others change the pod, all succeed', async () => {
  const { name } = weather.podOf('contested')
  const others = changeInLoop(name)
  const changes = Array.from({ length: 10 }, (_, index) => put(0.3 + index / 10, 64 + 8 * (index % 5)))
  const answers = await Promise.all(changes)
  await others.stop()
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const { config } = await weather.getBox('contested')
  expect(answers.map(({ body }) => body.config)).toContainEqual(config)
  expect((await put(0.4, 128)).status).toBe(200)
  await untilAgreed(0.4, 128)
  const restarts = 'jsonpath={.metadata.labels.storm} {.status.containerStatuses[0].restartCount}'
  expect(weather.kubectl('get', 'pod', name, '-o', restarts)).toMatch(/^\d+ 0$/)
  expect(weather.podOf('contested').name).toBe(name)
})

/** Labels the pod and changes its requests in a loop, like another client. */
function changeInLoop(pod: string): { stop(): Promise<void> } {
  const kubectl = process.env['BOXYARD_TEST_KUBECTL'] ?? 'kubectl'
  const script = `i=0; while :; do i=$((i+1))
    "$1" label pod -n boxyard "$2" --overwrite storm=$i
    "$1" patch pod -n boxyard "$2" --subresource=resize --patch '{"spec":{"containers":[{"name":"box","resources":{"requests":{"cpu":"'$((5 + i % 3))'m"}}}]}}'
  done`
  const child = spawn('sh', ['-c', script, 'sh', kubectl, pod], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  return {
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

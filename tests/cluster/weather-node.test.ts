import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startPart, stopPart } from '../../infra/cluster/part-process.ts'
import { clusterPaths } from '../../infra/cluster/record.ts'
import { keepRunning, pidsOfBox, startWeather, until } from '../helpers/pods/weather.ts'
import { startWeatherCluster, type WeatherCluster } from '../helpers/pods/weather-cluster.ts'

// Tests a node that fails under running boxes. Its programs die, it is drained, and it cannot pull an image.

let weather: WeatherCluster

beforeAll(async () => {
  weather = await startWeatherCluster()
  await weather.createBox('steady')
})

afterAll(async () => {
  await weather?.close()
})

/** Creates a box without waiting for it. */
const ask = (name: string) => weather.client.post(`${weather.boxes}?wait_seconds=0`, { name, config: SMALL })

const faultOf = async (code: string) =>
  (await weather.client.get('/healthz')).body.problems.find((fault: { code: string }) => fault.code === code)

test.each(['containerd', 'kubelet'] as const)(
  '%s is killed: no box ends, and requests made meanwhile complete when it is back',
  async (part) => {
    await weather.createBox(`brief-${part}`)
    const pod = weather.podOf('steady')
    const pids = pidsOfBox(weather, await weather.getBox('steady'))
    const commands = keepRunning(weather, 'steady')
    await stopPart(weather.name, part, 'SIGKILL')
    try {
      expect((await ask(`late-${part}`)).body.status).toBe('pending')
      expect((await weather.client.post(`${weather.boxes}/brief-${part}/stop`)).body.status).toBe('stopped')
      expect((await weather.getBox(`late-${part}`)).status).toBe('pending')
    } finally {
      await startPart(weather.name, part)
    }
    await until(async () => (await weather.getBox(`late-${part}`)).status === 'running', 'it runs')
    await weather.createBox(`new-${part}`)
    await weather.untilAgreed()
    expect(await commands.stop()).toBeGreaterThan(1)
    expect(pidsOfBox(weather, await weather.getBox('steady'))).toEqual(pids)
    expect(weather.podOf('steady')).toEqual(pod)
    const restarts = 'jsonpath={.status.containerStatuses[0].restartCount}'
    expect(weather.kubectl('get', 'pod', pod.name, '-o', restarts)).toBe('0')
  },
)

test('an image that the node cannot pull is reported', async () => {
  const settings = { BOXYARD_KUBECONFIG: clusterPaths(weather.name).agentKubeconfig, BOXYARD_POD_IMAGE: NO_IMAGE }
  const kubeconfig = clusterPaths(weather.name).adminKubeconfig
  const other = await startWeather({ kubeconfig, settings })
  try {
    const { body } = await other.client.post(other.boxes, { name: 'bare' })
    expect(body).toMatchObject({ status: 'stopped', state: { reason: 'failed' } })
    expect(body.state.message).toMatch(/ErrImagePull|ImagePullBackOff/)
    const { problems } = (await other.client.get('/healthz')).body
    const fault = problems.find(({ code }: { code: string }) => code === 'kubernetes_image')
    expect(fault?.remedy).toContain('BOXYARD_POD_IMAGE')
    expect((await other.client.delete(`${other.boxes}/bare`)).status).toBe(204)
    await other.untilAgreed()
  } finally {
    await other.close()
  }
})

test('a drained node: its boxes come back with it, and unscheduled ones show the reason', async () => {
  await weather.run('steady', 'echo kept > /root/data')
  const { boxes } = (await weather.client.get(weather.boxes)).body
  for (const { name } of boxes) if (name !== 'steady') await weather.client.delete(`${weather.boxes}/${name}`)
  const node = weather.record.node.name
  weather.kubectl('drain', node, '--ignore-daemonsets', '--grace-period=2', '--timeout=100s')
  expect((await ask('unplaced')).body.status).toBe('pending')
  const unplaced = async (name: string, status: string) => {
    const { status: now, state } = await weather.getBox(name)
    return now === status && state.message?.includes('unschedulable')
  }
  // Before the start fails, the box already shows what it waits for.
  await until(() => unplaced('unplaced', 'pending'), 'one that waits tells why', 45_000)
  expect((await until(() => faultOf('kubernetes_node_cordoned'), 'health tells of the node')).remedy).toContain(
    'uncordon',
  )
  expect((await until(() => faultOf('kubernetes_unschedulable'), 'health tells of the pods')).remedy).toMatch(/./)
  await Promise.all([
    until(() => unplaced('unplaced', 'stopped'), 'one that was asked for has failed'),
    until(() => unplaced('steady', 'unknown'), 'one that ran is still wanted'),
  ])
  weather.kubectl('uncordon', node)
  await until(async () => (await weather.getBox('steady')).status === 'running', 'it runs again')
  expect(await weather.run('steady', 'cat /root/data')).toBe('kept\n')
  expect((await weather.client.post(`${weather.boxes}/unplaced/resume`)).body.status).toBe('running')
  await until(async () => (await weather.faults()).length === 0, 'health is well')
  await weather.untilAgreed()
})

const SMALL = { ram_mb: 64, cpus: 0.5, storage_gb: 1 }
const NO_IMAGE = 'nowhere.test/none:1'

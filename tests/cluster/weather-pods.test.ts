import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { instanceOf } from '../helpers/boxes/world.ts'
import { busyboxPod } from '../helpers/pods/busybox-pod.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { pidsOfBox, startWeather, until, type Weather } from '../helpers/pods/weather.ts'

// Tests changes that others make to the pods of boxes, without the agent.

let weather: Weather

beforeAll(async () => {
  weather = await startWeather()
})

afterAll(async () => {
  await weather.close()
})

/** Creates a box with data and a command that logs SIGTERM. Returns the command's id and the pod. */
async function prepare(name: string): Promise<{ exec: string; pod: string }> {
  await weather.createBox(name)
  await weather.run(name, 'echo kept > /root/data')
  const line = "trap 'echo asked >> /root/data; exit 3' TERM; touch /root/ready; while :; do sleep 0.1; done"
  const { body } = await weather.client.post(`${weather.boxes}/${name}/exec?wait_seconds=0`, { shell: line })
  await until(() => weather.run(name, 'test -e /root/ready && echo yes || echo').then(Boolean), 'the command runs')
  return { exec: body.id, pod: weather.podOf(name).name }
}

/** Waits until the box runs in a pod other than `pod`. Returns the statuses seen until then. */
async function untilBack(name: string, pod: string): Promise<Set<string>> {
  const said = new Set<string>()
  await until(async () => {
    said.add((await weather.getBox(name)).status)
    return weather.pods().some((each) => each.box === name && each.name !== pod && each.phase === 'Running')
  }, `${name} has another pod`)
  await until(async () => (await weather.getBox(name)).status === 'running', `${name} runs`)
  return said
}

const execOf = async (box: string, id: string) => (await weather.client.get(`${weather.boxes}/${box}/exec/${id}`)).body

describe('a pod that another client deletes', () => {
  test.each([
    ['deleted', (pod: string) => weather.kubectl('delete', 'pod', pod, '--wait=false')],
    ['evicted', (pod: string) => evict(pod)],
  ])('%s: its commands get their time, and the box comes back with its data', async (how, take) => {
    const { exec, pod } = await prepare(`box-${how}`)
    take(pod)
    const said = await untilBack(`box-${how}`, pod)
    expect([...said].filter((status) => !['running', 'pending'].includes(status))).toEqual([])
    expect(await weather.run(`box-${how}`, 'cat /root/data')).toBe('kept\nasked\n')
    expect(await execOf(`box-${how}`, exec)).toMatchObject({ status: 'exited', exit_code: 3 })
    await weather.untilAgreed()
  })

  test('deleted by force: the box comes back with its data', async () => {
    const { exec, pod } = await prepare('forced')
    weather.kubectl('delete', 'pod', pod, '--force', '--grace-period=0', '--wait=false')
    await untilBack('forced', pod)
    expect(await weather.run('forced', 'head -n 1 /root/data')).toBe('kept\n')
    const { status, exit_code: code } = await execOf('forced', exec)
    expect(['exited', 'killed', 'lost']).toContain(status)
    if (status === 'exited') expect(code).toBe(3)
    await weather.untilAgreed()
  })

  test('while the agent is down: the box is back with the agent', async () => {
    const { pod } = await prepare('unseen')
    await weather.createBox('ended')
    const { body: last } = await weather.client.shell('weather', 'ended', 'echo')
    expect(last.exit_code).toBe(0)
    const [init] = pidsOfBox(weather, await weather.getBox('ended'))
    await weather.service.killAgent()
    weather.kubectl('delete', 'pod', pod, '--grace-period=1')
    process.kill(init ?? 0, 'SIGKILL')
    await weather.service.startAgent()
    await untilBack('unseen', pod)
    expect(await weather.run('unseen', 'head -n 1 /root/data')).toBe('kept\n')
    // A box whose init exits on its own is stopped, as without Kubernetes.
    await until(async () => (await weather.getBox('ended')).status === 'stopped', 'the other has ended')
    await weather.untilAgreed()
  })
})

describe('the pods of others', () => {
  test('in the namespace of boxes are never touched, and cannot pass for a box', async () => {
    const name = `foreign-${process.pid}`
    const here = '--namespace=boxyard'
    const podOf = (metadata: object): string => {
      const { spec, ...pod } = JSON.parse(busyboxPod(name))
      const containers = [{ ...spec.containers[0], securityContext: RESTRICTED }]
      return JSON.stringify({ ...pod, metadata, spec: { ...spec, containers } })
    }
    succeed(kubectlWith(podOf({ name }), here, 'create', '-f', '-'))
    try {
      weather.kubectl('wait', `pod/${name}`, '--for=condition=Ready', '--timeout=100s')
      const { id } = await weather.createBox('beside')
      const marks = { 'boxyard.dev/instance': instanceOf(weather.service), 'boxyard.dev/box-id': id }
      const forged = podOf({ name: `${name}-forged`, labels: marks, annotations: marks })
      expect(kubectlWith(forged, here, 'create', '-f', '-').stderr).toContain('Only Boxyard')
      const labelled = kubectl(here, 'label', 'pod', name, `boxyard.dev/box-id=${id}`)
      expect(labelled.stderr).toContain('Only Boxyard')
      await weather.client.post(`${weather.boxes}/beside/stop`)
      await weather.service.restart()
      expect((await weather.client.delete(`${weather.boxes}/beside`)).status).toBe(204)
      await weather.untilAgreed()
      const state = 'jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}'
      expect(weather.kubectl('get', 'pod', name, '-o', state)).toBe('Running 0')
    } finally {
      weather.kubectl('delete', 'pod', name, '--force', '--grace-period=0')
    }
  })
})

function evict(pod: string): void {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: 'boxyard' } }
  const path = `/api/v1/namespaces/boxyard/pods/${pod}/eviction`
  succeed(kubectlWith(JSON.stringify(body), 'create', '--raw', path, '-f', '-'))
}

/** Security settings that the boxes' namespace requires of every pod. */
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

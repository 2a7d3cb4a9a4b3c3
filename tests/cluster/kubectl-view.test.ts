import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { instanceOf } from '../helpers/boxes/world.ts'
import { kubectl } from '../helpers/pods/kubectl.ts'
import { type BoxSeen, pidsOfBox, startWeather, until, type Weather } from '../helpers/pods/weather.ts'

// Tests what an operator sees and can do with only kubectl.

let weather: Weather
let web: BoxSeen

beforeAll(async () => {
  weather = await startWeather()
  web = await weather.createBox('web')
  await weather.createBox('db')
  const other = await weather.client.post('/v1/projects/other/boxes', { name: 'elsewhere' })
  expect(other.body.status).toBe('running')
})

afterAll(async () => {
  await weather?.close()
})

/** Selects this service's boxes, because others may share the namespace. */
const mark = (): string => `boxyard.dev/instance=${instanceOf(weather.service)}`
const list = (selector: string, columns: string): string[] =>
  weather
    .kubectl('get', 'pods', '-l', `${mark()},${selector}`, '--no-headers', '-o', `custom-columns=${columns}`)
    .trim()
    .split('\n')
    .sort()

describe('kubectl get', () => {
  test('shows the boxes of a project by readable names', () => {
    const names = list('boxyard.dev/project=weather', 'NAME:.metadata.name')
    expect(names).toEqual([expect.stringMatching(/^db--weather-\w+$/), expect.stringMatching(/^web--weather-\w+$/)])
    const columns = ['project', 'box', 'box-id'].map((key) => `X:.metadata.labels.boxyard\\.dev/${key}`)
    const [line = ''] = list('boxyard.dev/box=web,boxyard.dev/project=weather', columns.join())
    expect(line.split(/\s+/)).toEqual(['weather', 'web', web.id])
    expect(list('app.kubernetes.io/managed-by=boxyard,app.kubernetes.io/name=box', 'X:.metadata.name')).toHaveLength(3)
  })

  test('shows the node as their owner, and that they run', () => {
    const pod = JSON.parse(weather.kubectl('get', 'pod', weather.podOf('web').name, '-o', 'json'))
    const [owner] = pod.metadata.ownerReferences
    expect({ kind: owner.kind, name: owner.name }).toEqual({ kind: 'Node', name: pod.spec.nodeName })
    expect(pod.status).toMatchObject({ phase: 'Running', containerStatuses: [{ ready: true, restartCount: 0 }] })
  })

  test('shows a policy for each project, which admits only its own boxes', () => {
    const { items } = JSON.parse(weather.kubectl('get', 'networkpolicies', '-l', mark(), '-o', 'json'))
    const projects = items.map((item: Policy) => item.spec.podSelector.matchLabels['boxyard.dev/project']).sort()
    expect(projects).toEqual(['other', 'weather'])
    for (const { spec } of items as Policy[]) {
      expect(spec.ingress.flatMap(({ from }) => from)).toEqual([{ podSelector: spec.podSelector }])
    }
  })

  test('shows the limits that a box was given', async () => {
    const before = weather.podOf('web')
    expect(before.limits).toEqual({ cpu: '500m', memory: '64Mi' })
    const { status } = await weather.client.put(`${weather.boxes}/web`, { config: { cpus: 1.5, ram_mb: 96 } })
    expect(status).toBe(200)
    await until(() => weather.podOf('web').limits.memory === '96Mi', 'the pod tells the limits')
    const { limits, name } = weather.podOf('web')
    expect({ limits, name }).toEqual({ limits: { cpu: '1500m', memory: '96Mi' }, name: before.name })
    const told = 'jsonpath={.status.containerStatuses[0].resources.limits.memory}'
    await until(() => weather.kubectl('get', 'pod', name, '-o', told) === '96Mi', 'the kubelet has taken them')
    expect((await weather.getBox('web')).config).toMatchObject({ cpus: 1.5, ram_mb: 96 })
  })
})

describe('kubectl exec', () => {
  const inBox = (line: string): string => weather.kubectl('exec', weather.podOf('web').name, '--', 'sh', '-c', line)

  test('lands in the box', async () => {
    await weather.run('web', 'echo mine > /root/file')
    expect(inBox('cat /root/file; hostname')).toBe('mine\nweb\n')
    inBox('echo theirs > /root/other')
    expect(await weather.run('web', 'cat /root/other')).toBe('theirs\n')
    expect(kubectl('-n', 'boxyard', 'exec', weather.podOf('web').name, '--', 'sh', '-c', 'exit 7').exitCode).toBe(7)
  })

  test('gives no more rights than a command of the API has', async () => {
    const rights = 'grep "^Seccomp:" /proc/self/status; cat /proc/self/uid_map; id -u'
    expect(inBox(rights)).toBe(await weather.run('web', rights))
    // Setuid programs work only in the API's commands.
    expect(inBox('grep ^NoNewPrivs: /proc/self/status')).toBe('NoNewPrivs:\t1\n')
    // kubectl exec gets no capability, because the pod requests none. The API's commands get a container's default capabilities.
    expect(inBox('grep -c "^Cap.*:.0000000000000000$" /proc/self/status').trim()).toBe('5')
    for (const line of [
      'mount -t tmpfs none /mnt',
      'unshare -U true',
      'mknod /root/sda b 8 0',
      'echo 1 >/proc/sys/kernel/panic',
    ]) {
      const { exitCode, stderr } = kubectl('-n', 'boxyard', 'exec', weather.podOf('web').name, '--', 'sh', '-c', line)
      expect({ line, exitCode, stderr }).toEqual({
        line,
        exitCode: expect.any(Number),
        stderr: expect.stringMatching(/not permitted|denied|Read-only/),
      })
    }
  })
})

describe('kubectl logs and delete', () => {
  test('logs are empty and harmless', async () => {
    const pids = pidsOfBox(weather, web)
    expect(weather.kubectl('logs', weather.podOf('web').name)).toBe('')
    expect(await weather.run('web', 'echo here')).toBe('here\n')
    expect(pidsOfBox(weather, web)).toEqual(pids)
  })

  test('the mode down removes pods and policies, and the next start restores the boxes', async () => {
    await weather.service.killAgent('SIGTERM')
    expect(await weather.service.runAgentMode('down')).toContain('Stopped 3 boxes')
    await until(() => weather.pods().length === 0, 'no pods are left')
    expect(weather.kubectl('get', 'networkpolicies', '-l', mark(), '-o', 'name')).toBe('')
    await weather.service.startAgent()
    await until(async () => (await weather.getBox('web')).status === 'running', 'it runs again')
    expect(await weather.run('web', 'cat /root/file')).toBe('mine\n')
    expect(weather.kubectl('get', 'networkpolicies', '-l', mark(), '-o', 'name')).toContain('networkpolicy')
  })
})

interface Policy {
  spec: { podSelector: { matchLabels: Record<string, string> }; ingress: { from: object[] }[] }
}

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startPart, stopPart } from '../../infra/cluster/part-process.ts'
import { clusterPaths } from '../../infra/cluster/record.ts'
import { type CuttableLine, openCuttableLine } from '../helpers/front/cuttable-line.ts'
import { kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { until } from '../helpers/pods/weather.ts'
import { startWeatherCluster, type WeatherCluster } from '../helpers/pods/weather-cluster.ts'

// Tests the agent's access to the API server: dropped connections, lost history, and revoked credentials and rights.

let weather: WeatherCluster
let line: CuttableLine

beforeAll(async () => {
  weather = await startWeatherCluster()
  line = await openCuttableLine('127.0.0.1', weather.record.ports.apiServer)
  weather.writeAgentKubeconfig({ port: line.port })
  await weather.service.restart()
  await weather.createBox('steady')
})

afterAll(async () => {
  weather?.writeAgentKubeconfig({})
  await line?.close()
  await weather?.close()
})

const create = (name: string, config = {}) => weather.client.post(weather.boxes, { name, config })

/** Waits until a create fails with `detail` and leaves nothing behind. */
async function untilRefused(detail: string): Promise<void> {
  await until(async () => {
    const { status, body } = await create('refused')
    if (status === 201 || status === 202) await weather.client.delete(`${weather.boxes}/refused`)
    return status === 503 && body.code === 'runtime_unavailable' && body.detail === detail
  }, detail)
  expect((await weather.client.get(`${weather.boxes}/refused`)).status).toBe(404)
  expect(await weather.run('steady', 'echo here')).toBe('here\n')
}

async function untilFault(code: string, evidence: string): Promise<void> {
  const read = async () => {
    const { body } = await weather.client.get('/healthz')
    return body.problems.find((fault: { code: string }) => fault.code === code)
  }
  const fault = await until(read, `health tells ${code}`)
  expect(fault.evidence).toContain(evidence)
  expect(fault.remedy).toMatch(/./)
}

/** Creates a box, and retries after each refusal. An attempt whose calls were all cut off leaves nothing behind. */
async function untilCreated(name: string, config = {}): Promise<void> {
  await until(async () => (await create(name, config)).status === 201, `${name} is made`)
}

async function untilRuns(name: string): Promise<void> {
  const runs = async (): Promise<boolean> => (await weather.getBox(name)).status === 'running'
  await until(runs, `${name} runs`).catch(async (cause: unknown) => {
    const seen = JSON.stringify([await weather.getBox(name), weather.pods()])
    throw new Error(`the box and all pods are now: ${seen}`, { cause })
  })
}

async function untilWell(name: string): Promise<void> {
  await untilCreated(name)
  await until(async () => (await weather.faults()).length === 0, 'health is well')
  await weather.untilAgreed()
}

describe('the watch of pods', () => {
  test('that is dropped while boxes are made misses none', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    // The pauses grow. A slow machine needs longer than the first ones for a connection and a request.
    let pauseMs = 150
    const dropNext = (): NodeJS.Timeout => setTimeout(drop, (pauseMs *= 1.05))
    const endAt = performance.now() + DROPS_MS
    const drop = (): void => {
      line.drop()
      if (performance.now() < endAt) dropping = dropNext()
    }
    let dropping = dropNext()
    try {
      const config = { cpus: 0.5, ram_mb: 64 }
      await Promise.all(names.map((name) => untilCreated(name, config)))
      // A create may answer before its box runs, if its calls were cut off and it could not be undone. The agent keeps trying.
      for (const name of names) await untilRuns(name)
      await Promise.all(names.map((name) => weather.client.post(`${weather.boxes}/${name}/stop`)))
      await Promise.all(names.map((name) => weather.client.delete(`${weather.boxes}/${name}`)))
    } finally {
      clearTimeout(dropping)
    }
    await weather.untilAgreed()
    expect(await weather.run('steady', 'echo here')).toBe('here\n')
  })

  test('lists again when the server has dropped its version', async () => {
    const { name: before } = weather.podOf('steady')
    line.freeze()
    weather.kubectl('delete', 'pod', before, '--force', '--grace-period=0')
    await compact(weather.record.ports.etcd)
    // The API server's watch cache ends with its process.
    await stopPart(weather.name, 'kube-apiserver', 'SIGKILL')
    await startPart(weather.name, 'kube-apiserver')
    await line.mend()
    await until(
      () => weather.pods().some(({ box, name, phase }) => box === 'steady' && name !== before && phase === 'Running'),
      'the box is back',
    )
    await untilWell('after-compaction')
  })
})

describe('the rights of an account', () => {
  test('expired credentials are reported, and new ones heal', async () => {
    const secret = makeToken('short-lived')
    const token = await until(
      () => weather.kubectl('get', 'secret', 'short-lived', '-n', SYSTEM, '-o', 'jsonpath={.data.token}'),
      'the token is made',
    )
    weather.writeAgentKubeconfig({ port: line.port, token: Buffer.from(token, 'base64').toString() })
    await untilWell('with-token')
    secret.remove()
    const detail = "The cluster does not accept the agent's credentials. They may have expired."
    await untilRefused(detail)
    await untilFault('kubernetes_credentials', 'does not accept')
    weather.writeAgentKubeconfig({ port: line.port })
    await untilWell('with-another')
  })

  test('a withdrawn verb is named, and granting it again heals', async () => {
    setVerbs(['get', 'list', 'watch', 'delete', 'patch'])
    await untilRefused(
      'The agent is not allowed to create pods in namespace "boxyard". Grant it to its ServiceAccount.',
    )
    await untilFault('kubernetes_forbidden', 'The agent is not allowed to create pods in namespace "boxyard".')
    applyManifests()
    await untilWell('with-verb')
  })

  test('without a right at all the view of the pods is not trusted', async () => {
    weather.kubectl('delete', 'rolebinding', 'boxyard-agent')
    line.drop()
    await until(
      async () =>
        /The agent is not allowed to (watch|list) pods in namespace "boxyard"/.test(
          (await create('refused')).body.detail,
        ),
      'it is refused',
    )
    await untilFault('kubernetes_forbidden', 'pods in namespace "boxyard".')
    expect((await weather.client.post(`${weather.boxes}/steady/stop`)).status).toBe(503)
    expect(await weather.run('steady', 'echo here')).toBe('here\n')
    applyManifests()
    await untilWell('with-all')
  })
})

/** Creates a token that is valid until its secret is deleted. */
function makeToken(name: string): { remove(): void } {
  const annotations = { 'kubernetes.io/service-account.name': 'boxyard-agent' }
  const metadata = { name, namespace: SYSTEM, annotations }
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token', metadata }
  asAdmin(JSON.stringify(secret), 'create', '-f', '-')
  return { remove: () => void weather.kubectl('delete', 'secret', name, '-n', SYSTEM) }
}

/** Sets the agent's RBAC `verbs` on pods. */
function setVerbs(verbs: readonly string[]): void {
  const patch = [{ op: 'replace', path: '/rules/0/verbs', value: verbs }]
  weather.kubectl('patch', 'role', 'boxyard-agent', '--type=json', `--patch=${JSON.stringify(patch)}`)
}

function applyManifests(): void {
  asAdmin('', 'apply', '--kustomize', 'infra/kubernetes')
}

function asAdmin(input: string, ...args: string[]): void {
  succeed(kubectlWith(input, `--kubeconfig=${clusterPaths(weather.name).adminKubeconfig}`, ...args))
}

/** Makes etcd drop all versions before the current one. */
async function compact(port: number): Promise<void> {
  const ask = async (path: string, body: object): Promise<any> => {
    const answer = await fetch(`http://127.0.0.1:${port}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(await answer.text())
    return answer.json()
  }
  const { header } = await ask('range', { key: Buffer.from('none').toString('base64') })
  await ask('compaction', { revision: header.revision, physical: true })
}

const SYSTEM = 'boxyard-system'
/**
 * After this time, the agent's retry delay for a start is up to 32 s. After three minutes it would be a whole minute, and the test would
 * time out.
 */
const DROPS_MS = 60_000

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { instanceOf } from '../helpers/boxes/world.ts'
import { clusterOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { type BoxSeen, pidsOfBox, startWeather, until, type Weather } from '../helpers/pods/weather.ts'

const BUSYBOX = 'boxyard.test/busybox:1'
const NO_BOX = 'this pod is not a starting box'

describe('the root of a box', () => {
  let weather: Weather
  let victim: BoxSeen
  let instance = ''
  let before: number[] = []
  const home = mkdtempSync(join(tmpdir(), 'boxyard-hook-'))

  beforeAll(async () => {
    weather = await startWeather()
    instance = instanceOf(weather.service)
    victim = await weather.createBox('victim')
    await weather.run('victim', 'echo secret >/root/secret; sync')
    before = pidsOfBox(weather, victim)
  })

  // After every attempt the box still runs, and its root holds no other process.
  afterEach(async () => {
    expect(pidsOfBox(weather, victim)).toEqual(before)
    expect(await weather.run('victim', 'cat /root/secret; hostname')).toBe('secret\nvictim\n')
    expect((await weather.getBox('victim')).status).toBe('running')
  })

  afterAll(async () => {
    rmSync(home, { recursive: true })
    await weather.close()
  })

  describe('is not given to a pod made with a stolen token of the agent', () => {
    const thief = `--kubeconfig=${clusterOfTests().kubeconfig}`
    const nameOf = (what: string): string => `thief-${what}-${instance}`
    const REFUSED: [string, () => PodChanges, RegExp][] = [
      ['plain', () => ({}), new RegExp(NO_BOX)],
      ['twin', () => ({ labels: labelsOf(weather, 'victim') }), new RegExp(NO_BOX)],
      ['absent', () => ({ annotations: markOf('zzzzzzzz') }), /zzzzzzzz does not listen on this node/],
    ]
    const NOT_ADMITTED: [string, PodChanges][] = [
      ['second', { containers: ['other', 'box'] }],
      ['init', { initContainers: ['box'], containers: ['other'] }],
    ]
    const OF_THEIR_IMAGE: [string, PodChanges][] = [
      ['other', { containers: ['other'] }],
      ['unmarked', { annotations: {} }],
      ['misspelt', { annotations: markOf('../../etc') }],
    ]

    beforeAll(() => {
      const changes = new Map<string, PodChanges>(REFUSED.map(([what, make]) => [what, make()]))
      for (const [what, each] of OF_THEIR_IMAGE)
        changes.set(what, { labels: labelsOf(weather, 'victim'), image: BUSYBOX, ...each })
      for (const [what, each] of changes) {
        const pod = stolenPod(nameOf(what), { annotations: markOf(instance), ...each })
        succeed(kubectlWith(JSON.stringify(pod), thief, 'create', '-n', 'boxyard', '-f', '-'))
      }
    })

    afterAll(() => {
      const names = [...REFUSED, ...OF_THEIR_IMAGE].map(([what]) => nameOf(what))
      weather.kubectl('delete', 'pod', ...names, '--grace-period=0', '--force', '--ignore-not-found')
    })

    test.each(REFUSED)('%s', async (what, _, reason) => {
      const events = ['get', 'events', '--field-selector', `involvedObject.name=${nameOf(what)}`]
      const told = (): string => weather.kubectl(...events, '-o', 'jsonpath={..message}')
      let last = ''
      const isTold = (): boolean => reason.test((last = told()))
      await until(isTold, 'the node tells why it makes no container').catch((error: unknown) => {
        throw new Error(`It told: ${last}; ${weather.kubectl('describe', 'pod', nameOf(what))}`, { cause: error })
      })
      const started = 'jsonpath={.status.containerStatuses[?(@.name=="box")].started}'
      expect(weather.kubectl('get', 'pod', nameOf(what), '-o', started)).not.toContain('true')
    })

    test.each(NOT_ADMITTED)('%s, which is not even made', (what, changes) => {
      const pod = stolenPod(nameOf(what), { annotations: markOf(instance), ...changes })
      const { stderr } = kubectlWith(JSON.stringify(pod), thief, 'create', '-n', 'boxyard', '-f', '-')
      expect(stderr).toMatch(/creates pods with one container/)
    })

    test.each(OF_THEIR_IMAGE)('%s, whose container runs its own image', async (what) => {
      const phase = (): string => weather.kubectl('get', 'pod', nameOf(what), '-o', 'jsonpath={.status.phase}')
      await until(() => phase() === 'Running', 'the container runs')
      const look = 'ls / /root; grep " / / " /proc/self/mountinfo; grep Cap /proc/self/status'
      const seen = weather.kubectl('exec', nameOf(what), '--', 'sh', '-c', look)
      expect(seen).not.toMatch(/secret|btrfs|sub_/)
      expect(seen).toContain('CapBnd:\t0000000000000000')
    })
  })

  test("is not given to a container added to the box's pod, which does not harm the box", async () => {
    const { name } = weather.podOf('victim')
    const custom = join(home, 'custom.json')
    writeFileSync(custom, '{"securityContext":{"runAsUser":1000}}')
    const debug = [
      'debug',
      name,
      `--image=${BUSYBOX}`,
      '--profile=restricted',
      `--custom=${custom}`,
      '--container=look',
    ]
    weather.kubectl(...debug, '--', 'sh', '-c', 'ls / /root; grep " / / " /proc/self/mountinfo; sleep 600')
    const state = 'jsonpath={.status.ephemeralContainerStatuses[0].state}'
    await until(() => weather.kubectl('get', 'pod', name, '-o', state).includes('running'), 'it runs')
    await until(() => weather.kubectl('logs', name, '-c', 'look') !== '', 'it has looked')
    expect(weather.kubectl('logs', name, '-c', 'look')).not.toMatch(/secret|btrfs|sub_/)
    expect(await weather.run('victim', 'ps | grep -c "sleep 60[0]" || true')).toBe('0\n')
    await weather.client.put(`${weather.boxes}/victim`, { config: { ram_mb: 80 } })
    const begun = performance.now()
    for (const act of ['stop', 'resume'])
      expect((await weather.client.post(`${weather.boxes}/victim/${act}`)).status).toBe(200)
    expect(performance.now() - begun).toBeLessThan(20_000)
    await until(() => !weather.pods().some((pod) => pod.name === name), 'its pod is gone')
    before = pidsOfBox(weather, victim)
  })

  describe('is not given to root on the node without containerd', () => {
    /** Returns the agent's answer about a bundle with that configuration. */
    const ask = async (config: string): Promise<string> => {
      const bundle = mkdtempSync(join(home, 'b'))
      writeFileSync(join(bundle, 'config.json'), config)
      execFileSync('mkfifo', [join(bundle, 'boxyard-answer')])
      writeFileSync(`/run/boxyard/${instance}/node.fifo`, `prepare ${process.pid} ${bundle}\n`)
      const reply = await readFile(join(bundle, 'boxyard-answer'), 'utf8')
      expect(readFileSync(join(bundle, 'config.json'), 'utf8')).toBe(config)
      return reply.trim()
    }
    /** Returns the configuration of the box's own container, with other annotations. */
    const config = async (annotations: Record<string, string> = {}): Promise<string> => {
      let bundle = ''
      // The kubelet may add the container to the pod's status only after the box runs.
      await until(() => {
        const id = weather.kubectl('get', 'pod', weather.podOf('victim').name, '-o', 'jsonpath={..containerID}')
        bundle = id === '' ? '' : findBundle(id.replace('containerd://', ''))
        return bundle !== ''
      }, 'the container of the box is told by its pod')
      const given = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'))
      return JSON.stringify({ ...given, annotations: { ...given.annotations, ...annotations } })
    }

    test.each<[string, Record<string, string>, string]>([
      ['again for a running box', {}, NO_BOX],
      ['for an unknown pod', { 'io.kubernetes.cri.sandbox-uid': 'nobody' }, NO_BOX],
      [
        'for a pod without a uid',
        { 'io.kubernetes.cri.sandbox-uid': '' },
        'config.json: annotations.io.kubernetes.cri',
      ],
      ['for another kind of container', { 'io.kubernetes.cri.container-type': 'sandbox' }, 'config.json: annotations'],
    ])('%s', async (_, annotations, reason) => {
      expect(await ask(await config(annotations))).toContain(reason)
    })

    test.each(['', 'null', '[]', '{"annotations":', '{}', '{"annotations":{"a":1}}'])(
      'by an invalid configuration: %s',
      async (text) => {
        expect(await ask(text)).toMatch(/JSON|config\.json/)
      },
    )

    test('by reporting a foreign init', async () => {
      for (const pid of [1, process.pid, before[0]])
        writeFileSync(`/run/boxyard/${instance}/node.fifo`, `created ${pid} ${home}\n`)
      expect(await ask(await config())).toContain(NO_BOX)
    })
  })

  test.each(['cold', 'full'])('is kept for the box itself, also where its disk is %s', async (name) => {
    const box = await weather.createBox(name, { config: { storage_gb: 0.125, ram_mb: 64 } })
    if (name === 'full') await weather.run(name, 'dd if=/dev/urandom of=/var/x bs=64k 2>/dev/null || true')
    for (const act of ['stop', 'resume'] as const) await weather.turn(act, name)
    expect(await weather.run(name, 'hostname; cat /etc/hostname')).toBe(`${name}\n${name}\n`)
    expect(pidsOfBox(weather, box).length).toBeGreaterThan(0)
    expect((await weather.client.delete(`${weather.boxes}/${name}`)).status).toBe(204)
  })
})

interface PodChanges {
  labels?: Record<string, string>
  annotations?: Record<string, string>
  image?: string
  containers?: string[]
  initContainers?: string[]
}

function markOf(instanceId: string): Record<string, string> {
  return { 'boxyard.dev/instance': instanceId }
}

function labelsOf(weather: Weather, box: string): Record<string, string> {
  return JSON.parse(weather.kubectl('get', 'pod', weather.podOf(box).name, '-o', 'jsonpath={.metadata.labels}'))
}

/** Returns a pod that the agent is allowed to create. */
function stolenPod(name: string, changes: PodChanges): object {
  const { labels = {}, annotations = {}, image = clusterOfTests().image } = changes
  const limits = { cpu: '100m', memory: '32Mi' }
  const fill = (name: string): object => ({
    name,
    image,
    ...(image === BUSYBOX ? { command: ['sleep', '600'] } : {}),
    resources: { requests: limits, limits },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'boxyard', ...labels }, annotations },
    spec: {
      runtimeClassName: 'boxyard',
      hostUsers: false,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      containers: (changes.containers ?? ['box']).map(fill),
      initContainers: (changes.initContainers ?? []).map(fill),
    },
  }
}

/** Finds the bundle that containerd gave to runc. Ignores directories that disappear during the search. */
function findBundle(containerId: string): string {
  const search = ['/run', '-type', 'd', '-name', containerId, '-path', '*runtime.v2.task*']
  const found = spawnSync('find', search, { encoding: 'utf8' }).stdout
  return found.trim().split('\n')[0] ?? ''
}

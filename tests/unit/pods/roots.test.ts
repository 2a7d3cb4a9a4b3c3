import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { StageTask } from '../../../agent/drivers/boxes/tree.ts'
import type { HookCall } from '../../../agent/drivers/pods/node-hook.ts'
import { createPodRoots, type PodEndpoint, type PodRoots, type PodTicket } from '../../../agent/drivers/pods/roots.ts'

const UID = '11111111-2222-3333-4444-555555555555'

describe('the roots of pods', () => {
  let home = ''
  let roots: PodRoots
  let staged: StageTask[] = []
  let places: PodEndpoint[] = []
  let admit: (pod: { uid: string; name: string }) => void

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'boxyard-roots-'))
    staged = []
    places = []
    admit = () => undefined
    roots = createPodRoots({
      instanceId: 'abcd1234',
      runDir: join(home, 'run'),
      initPath: '/usr/bin/catatonit',
      cgroupVersion: () => 2,
      mounts: { stage: async (task) => void staged.push(task) },
      shared: { mark: 'fedcba98', namespace: 'boxyard', admit: (pod) => admit(pod) },
    })
  })

  afterEach(() => rmSync(home, { recursive: true }))

  const ticket = (changes: Partial<PodTicket> = {}): PodTicket => ({
    spec: { pidsMax: 64, environment: {} },
    namespace: 'boxyard',
    prepare: (place) => {
      places.push(place)
      return { source: '/pool/sub', readOnly: false, files: { 'etc/hosts': '/run/hosts' } }
    },
    ...changes,
  })
  const makeCall = (annotations: Record<string, string> = {}): HookCall => {
    const bundle = mkdtempSync(join(home, 'b'))
    writeFileSync(join(bundle, 'config.json'), given(annotations))
    return { pid: process.pid, bundle }
  }
  const written = ({ bundle }: HookCall): any => JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8'))

  test('are mounted when the container is created, by the ticket, together with its configuration', async () => {
    roots.expect(UID, ticket())
    const call = makeCall()
    await roots.prepare(call)
    const [stage] = staged
    expect(staged).toHaveLength(1)
    expect(stage).toMatchObject({ pid: process.pid, source: '/pool/sub', readOnly: false })
    expect(stage?.target).toBe(join(home, 'run', 'stage'))
    expect(stage?.userNamespace).toBe('/proc/7/ns/user')
    expect(places).toEqual([
      { address: expect.stringMatching(/^\d+\./), networkNamespace: `/proc/${process.pid}/ns/net` },
    ])
    expect(written(call).root).toEqual({ path: stage?.target, readonly: false })
    const sources = written(call).mounts.map(({ source }: { source: string }) => source)
    expect(sources).toEqual(expect.arrayContaining(['/usr/bin/catatonit', '/run/hosts']))
  })

  test.each<[string, Record<string, string>]>([
    ['another namespace', { 'io.kubernetes.cri.sandbox-namespace': 'default' }],
    ['another container', { 'io.kubernetes.cri.container-name': 'look' }],
    ['another instance', { 'boxyard.dev/instance': 'zzzzzzzz' }],
  ])('are refused to %s', async (_, annotations) => {
    roots.expect(UID, ticket())
    const call = makeCall(annotations)
    const before = written(call)
    await expect(roots.prepare(call)).rejects.toThrow('not that of a box of this agent')
    expect([staged, places]).toEqual([[], []])
    expect(written(call)).toEqual(before)
  })

  test('are given to a pod that is announced a moment later, and not to an unannounced one', async () => {
    const late = roots.prepare(makeCall())
    const never = roots.prepare(makeCall({ 'io.kubernetes.cri.sandbox-uid': 'other' }))
    never.catch(() => undefined)
    await sleep(100)
    expect(staged).toEqual([])
    roots.expect(UID, ticket())
    await late
    await expect(never).rejects.toThrow('not a starting box')
    expect(staged).toHaveLength(1)
  })

  test('are given to a warm pod of the fleet that is admitted once it is here, and to none that is not', async () => {
    const shared = { 'boxyard.dev/instance': 'fedcba98', 'io.kubernetes.cri.sandbox-name': 'warm-1' }
    await expect(roots.prepare(makeCall(shared))).rejects.toThrow('not a starting box')
    const admitted: object[] = []
    admit = (pod) => {
      admitted.push(pod)
      roots.expect(pod.uid, ticket())
    }
    await roots.prepare(makeCall(shared))
    expect(admitted).toEqual([{ uid: UID, name: 'warm-1' }])
    expect(staged).toHaveLength(1)
    // The agent deletes a pod that it admitted and does not use, by name. The pod of a box here can have the same name.
    for (const [key, value] of [
      ['io.kubernetes.cri.sandbox-namespace', 'default'],
      ['io.kubernetes.cri.container-name', 'look'],
    ] as const) {
      const foreign = { ...shared, 'io.kubernetes.cri.sandbox-uid': 'foreign', [key]: value }
      await expect(roots.prepare(makeCall(foreign))).rejects.toThrow('not that of a box of this agent')
    }
    expect(admitted).toHaveLength(1)
  })

  test('are no longer given once the ticket is dropped', async () => {
    roots.expect(UID, ticket()).drop()
    await expect(roots.prepare(makeCall())).rejects.toThrow('not a starting box')
    expect(staged).toEqual([])
  })

  test('leave the configuration unchanged if they cannot be prepared', async () => {
    const prepare = (): never => {
      throw new Error('the disk is full')
    }
    roots.expect(UID, ticket({ prepare }))
    const call = makeCall()
    const before = written(call)
    await expect(roots.prepare(call)).rejects.toThrow('the disk is full')
    expect(written(call)).toEqual(before)
  })

  test('end the wait for a pod that fails, and for one whose container ends before its init runs', async () => {
    const failed = roots.expect(UID, ticket())
    roots.fail('nobody', new Error('of another'))
    roots.fail(UID, new Error('its image is missing'))
    await expect(failed.started).rejects.toThrow('its image is missing')
    failed.drop()
    const { started } = roots.expect(UID, ticket())
    const call = makeCall()
    await roots.prepare(call)
    const child = spawn('true')
    await once(child, 'exit')
    await roots.created({ ...call, pid: child.pid ?? 0 })
    await expect(started).rejects.toThrow('ended before its first process ran')
  })

  test('take no init of a container that they did not prepare', async () => {
    const { started, drop } = roots.expect(UID, ticket())
    let isSettled = false
    const settle = (): void => void (isSettled = true)
    started.then(settle, settle)
    await roots.created({ ...makeCall(), pid: process.pid })
    await sleep(20)
    expect(isSettled).toBe(false)
    drop()
  })
})

/** Returns a configuration in containerd's format, with the network of this process. */
function given(annotations: Record<string, string>): string {
  const namespaces = [
    { type: 'mount' },
    { type: 'network', path: `/proc/${process.pid}/ns/net` },
    { type: 'user', path: '/proc/7/ns/user' },
  ]
  return JSON.stringify({
    ociVersion: '1.3.0',
    process: {},
    annotations: {
      'boxyard.dev/instance': 'abcd1234',
      'io.kubernetes.cri.container-name': 'box',
      'io.kubernetes.cri.container-type': 'container',
      'io.kubernetes.cri.sandbox-namespace': 'boxyard',
      'io.kubernetes.cri.sandbox-name': 'web--demo-1',
      'io.kubernetes.cri.sandbox-uid': UID,
      ...annotations,
    },
    linux: { namespaces, uidMappings: [{ containerID: 0, hostID: 131_072, size: 65_536 }], resources: {} },
  })
}

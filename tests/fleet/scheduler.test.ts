import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { eventually, untilSucceeds } from '../helpers/eventually.ts'
import { type Rig, runScript, startRig } from '../helpers/fleet/rig.ts'
import type { Client } from '../helpers/front/client.ts'
import { kubectl, succeed } from '../helpers/pods/kubectl.ts'

// This fleet has its own cluster, beside the cluster of the whole suite. Its scheduler chooses among three nodes.

const name = `scheduler-${process.pid}`
const boxes = '/v1/projects/demo/boxes'
let rig: Rig

afterAll(async () => {
  await runScript('fleet/down', name)
})

const here = (...args: string[]): string =>
  succeed(kubectl(`--kubeconfig=${rig.kubeconfig}`, '-n', 'boxyard', ...args)).stdout
const pods = (selector: string): Pod[] => {
  const { items } = JSON.parse(here('get', 'pods', '-l', selector, '-o', 'json')) as { items: Pod[] }
  return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
}
const warmPods = (): Pod[] => pods('boxyard.dev/warm=true')
const readyPods = (): Pod[] => warmPods().filter(({ metadata }) => metadata?.labels?.['boxyard.dev/instance'])
const podOf = (box: string): Pod => {
  const [pod] = pods(`boxyard.dev/box=${box}`)
  if (pod === undefined) throw new Error(`The box ${box} has no pod.`)
  return pod
}
const nodes = (): string[] => here('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}').split(' ')
const doorOf = (index: number): Client => {
  const door = rig.doors[index]
  if (door === undefined) throw new Error(`There is no door ${index}.`)
  return door
}
const create = async (door: number, box: object, headers = {}): Promise<Record<string, string>> => {
  const { status, body } = await doorOf(door).call('POST', boxes, { body: box, headers })
  expect({ status, body }).toMatchObject({ status: 201, body: { status: 'running' } })
  return body
}
/** Returns the names of pods for which the agent, not the scheduler, chose the node. */
const boundOf = (found: Pod[]): (string | undefined)[] =>
  found.flatMap(({ spec, metadata }) => (JSON.stringify(spec?.affinity ?? {}).includes('"In"') ? [metadata?.name] : []))

describe('warm pods', () => {
  beforeAll(async () => {
    rig = await startRig(name, { BOXYARD_WARM_POOL: '1' })
    await eventually(() => readyPods().length >= 3, 200)
  })

  test('are put on nodes by the scheduler, and made ready by the agents there', () => {
    const owners = new Map(
      readyPods().map(({ spec, metadata }) => [spec?.nodeName, metadata?.ownerReferences?.[0]?.name]),
    )
    expect(owners.size).toBeGreaterThan(1)
    for (const [node, owner] of owners) expect(owner).toBe(node)
    expect(boundOf(warmPods())).toEqual([])
  })

  test('are those of boxes, also if more are created at once than there are, and as many are made again', async () => {
    const before = readyPods().map(({ metadata }) => metadata?.name)
    const names = [1, 2, 3, 4, 5, 6].map((number) => `many-${number}`)
    const made = await Promise.all(names.map((box, index) => create(index % 3, { name: box })))
    const taken = names.map(podOf)
    expect(taken.some(({ metadata }) => before.includes(metadata?.name))).toBe(true)
    for (const [index, pod] of taken.entries()) expect(pod.spec?.nodeName).toBe(made[index]?.['node'])
    await eventually(() => readyPods().length >= 3, 200)
    for (const box of names) expect((await doorOf(0).shell('demo', box, 'hostname')).body?.stdout).toBe(`${box}\n`)
    for (const box of names) await doorOf(1).delete(`${boxes}/${box}`)
  })

  test('come to the nodes that take pods, and boxes with them', async () => {
    const [first = '', second = '', third = ''] = nodes()
    for (const node of [first, second]) here('cordon', node)
    try {
      here('delete', 'pods', '-l', 'boxyard.dev/warm=true', '--wait=false')
      await eventually(() => readyPods().length >= 3, 200)
      expect(new Set(readyPods().map(({ spec }) => spec?.nodeName))).toEqual(new Set([third]))
      const closed = 'jsonpath={.items[?(@.status.draining==true)].spec.node}'
      await eventually(() => here('get', 'agents', '-o', closed).split(' ').length === 2, 200)
      for (const door of [0, 1, 2]) expect((await create(door, { name: `on-${door}` }))['node']).toBe(third)
    } finally {
      for (const node of [first, second]) here('uncordon', node)
    }
    for (const door of [0, 1, 2]) await doorOf(door).delete(`${boxes}/on-${door}`)
  })
})

describe('without a pod that is ready', () => {
  beforeAll(async () => {
    rig.process.kill('SIGINT')
    await rig.exited
    rig = await startRig(name, { BOXYARD_WARM_POOL: '0' })
  })

  test('those of before are taken away', async () => {
    await eventually(() => warmPods().length === 0, 200)
  })

  test('a box goes where the scheduler puts one more, with the size of the box', async () => {
    // The agent gives up a slow one and creates the box at the requested cell.
    const { made, pod } = await untilSucceeds(async () => {
      await doorOf(0).delete(`${boxes}/cold`)
      const made = await create(0, { name: 'cold', config: { cpus: 2, ram_mb: 256 } })
      const pod = podOf('cold')
      expect(pod.metadata?.name).toMatch(/^warm-/)
      return { made, pod }
    })
    expect(pod.spec?.nodeName).toBe(made['node'])
    expect(boundOf([pod])).toEqual([])
    expect(pod.spec?.containers[0]?.resources?.limits).toEqual({ cpu: '2', memory: '256Mi' })
    const [other = ''] = nodes().filter((node) => node !== made['node'])
    // The next box of its node would use a pod that was given up and arrived late.
    await eventually(() => warmPods().length === 0, 200)
    expect((await create(0, { name: 'named', node: other }))['node']).toBe(other)
    expect(podOf('named').metadata?.name).toMatch(/^named--demo-/)
  })

  test('the repeat of a create has the answer of the first, wherever that was, also when the box is gone', async () => {
    for (const index of [0, 1, 2, 3]) {
      const key = { 'idempotency-key': `key-${index}` }
      const first = await create(0, { name: `keyed-${index}` }, key)
      expect(await create(1, { name: `keyed-${index}` }, key)).toMatchObject({ id: first['id'] })
      await doorOf(2).delete(`${boxes}/keyed-${index}`)
      expect(await create(2, { name: `keyed-${index}` }, key)).toMatchObject({ id: first['id'] })
      expect((await doorOf(2).get(`${boxes}/keyed-${index}`)).status).toBe(404)
    }
  })
})

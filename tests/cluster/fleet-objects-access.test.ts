import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { type ControlPlane, startControlPlane } from '../helpers/pods/control-plane.ts'
import {
  FLEET_KINDS,
  type FleetObject,
  fleetAgent,
  fleetHome,
  fleetObject,
  fleetProjectBase,
} from '../helpers/pods/fleet-objects.ts'
import { type KubectlResult, succeed } from '../helpers/pods/kubectl.ts'
import { until } from '../helpers/pods/weather.ts'

// Tests which accounts can write the objects of a fleet, with real tokens bound to nodes, and how kubectl shows the objects.

const ACCOUNT = ['boxyard-agent', '-n', 'boxyard-system']
const CELLS = ['-n', 'boxyard-system', 'configmap', 'boxyard-cells']
let plane: ControlPlane
/** Kubeconfigs of agents: bound to the node of cell k1, bound to the node of cell k2, and bound to no node. */
const kubeconfigs: Record<string, string> = {}
const nodeUids: Record<string, string> = {}

beforeAll(async () => {
  plane = await startControlPlane()
  succeed(plane.kubectl('apply', '-k', join(ROOT, 'infra/kubernetes')))
  const crds = FLEET_KINDS.map(({ plural }) => `crd/${plural}.boxyard.dev`)
  succeed(plane.kubectl('wait', '--for=condition=Established', '--timeout=60s', ...crds))
  for (const node of ['node-a', 'node-b']) {
    const object = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } })
    const made = plane.kubectlWith(object, 'create', '-f', '-', '-o', 'jsonpath={.metadata.uid}')
    nodeUids[node] = succeed(made).stdout
    const bound = ['--bound-object-kind=Node', `--bound-object-name=${node}`]
    kubeconfigs[node] = writeTokenOf(node, ...bound)
  }
  kubeconfigs['none'] = writeTokenOf('none')
  for (const [cell, node] of Object.entries({ k1: 'node-a', k2: 'node-b' })) {
    succeed(as(node, 'patch', ...CELLS, '--type=merge', '-p', JSON.stringify({ data: { [cell]: node } })))
    const agent = fleetAgent(cell, { node, nodeUid: nodeUids[node] })
    // The API server evaluates policies with watched objects, some milliseconds late.
    await until(() => createAs(node, agent).exitCode === 0, `${node} registers its cell`)
  }
})

afterAll(() => plane?.close())

const as = (who: string, ...args: string[]): KubectlResult =>
  plane.kubectl(...args, '--kubeconfig', kubeconfigs[who] ?? '')
const createAs = (who: string, object: object): KubectlResult =>
  plane.kubectlWith(JSON.stringify(object), 'create', '-f', '-', '--kubeconfig', kubeconfigs[who] ?? '')
const mergeAs = (who: string, resource: string, patch: object, ...more: string[]): KubectlResult =>
  as(who, '-n', 'boxyard', 'patch', resource, '--type=merge', '-p', JSON.stringify(patch), ...more)

function writeTokenOf(who: string, ...how: string[]): string {
  const token = succeed(plane.kubectl('create', 'token', ...ACCOUNT, ...how)).stdout.trim()
  return plane.writeKubeconfig(`${who}.kubeconfig`, token)
}

describe('an agent', () => {
  test('writes the homes of its cell', () => {
    succeed(createAs('node-a', fleetHome('mine')))
    succeed(mergeAs('node-a', 'home/box.demo.mine', { spec: { card: { config: { cpus: 2 } } } }))
    succeed(as('node-a', '-n', 'boxyard', 'delete', 'home/box.demo.mine'))
  })

  test('writes no home of another cell, and takes none', () => {
    const refusal = /This token is bound to the node node-b, and the cell k1 belongs to the node node-a/
    expect(createAs('node-b', fleetHome('theirs')).stderr).toMatch(refusal)
    succeed(createAs('node-a', fleetHome('theirs')))
    expect(mergeAs('node-b', 'home/box.demo.theirs', { spec: { phase: 'Lost' } }).stderr).toMatch(refusal)
    expect(mergeAs('node-b', 'home/box.demo.theirs', { spec: { cell: 'k2', epoch: 2 } }).stderr).toMatch(refusal)
    expect(as('node-b', '-n', 'boxyard', 'delete', 'home/box.demo.theirs').stderr).toMatch(refusal)
  })

  test('gives a home of its own to another cell, which has it from then on', () => {
    succeed(createAs('node-a', fleetHome('given')))
    succeed(mergeAs('node-a', 'home/box.demo.given', { spec: { cell: 'k2', epoch: 2 } }))
    expect(mergeAs('node-a', 'home/box.demo.given', { spec: { cell: 'k1', epoch: 3 } }).stderr).toMatch(
      /the cell k2 belongs to the node node-b/,
    )
    succeed(as('node-b', '-n', 'boxyard', 'delete', 'home/box.demo.given'))
  })

  test('writes nothing for a cell that has no node', () => {
    expect(createAs('node-a', fleetHome('nobody', { cell: 'zz' })).stderr).toMatch(/the cell zz belongs to no node yet/)
  })

  test('writes the bases that its cell has made, and no others', () => {
    const refusal = /This token is bound to the node node-b, and the cell k1 belongs to the node node-a/
    const base = fleetProjectBase('made')
    expect(createAs('node-b', base).stderr).toMatch(refusal)
    succeed(createAs('node-a', base))
    expect(mergeAs('node-b', 'base/made.debian', { spec: { cell: 'k2' } }).stderr).toMatch(refusal)
    expect(as('node-b', '-n', 'boxyard', 'delete', 'base/made.debian').stderr).toMatch(refusal)
    succeed(as('node-a', '-n', 'boxyard', 'delete', 'base/made.debian'))
  })

  test('tells of itself alone', () => {
    const status = { status: { ready: true, heartbeatAt: '2026-11-26T02:50:00.713Z' } }
    succeed(mergeAs('node-a', 'agent/k1', status, '--subresource=status'))
    const refusal = /bound to the node node-a, and the cell k2 belongs to the node node-b/
    expect(mergeAs('node-a', 'agent/k2', status, '--subresource=status').stderr).toMatch(refusal)
    expect(mergeAs('node-a', 'agent/k2', { spec: { channelUrl: 'http://evil' } }).stderr).toMatch(refusal)
    const refused = /spec.node and spec.nodeUid of an Agent must be those of the Node/
    expect(mergeAs('node-a', 'agent/k1', { spec: { node: 'node-b' } }).stderr).toMatch(refused)
    expect(mergeAs('node-a', 'agent/k1', { spec: { nodeUid: nodeUids['node-b'] } }).stderr).toMatch(refused)
    expect(as('node-a', '-n', 'boxyard', 'delete', 'agent/k1').stderr).toMatch(/cannot delete resource "agents"/)
  })

  test('adds its cell to those that have a node, and changes no other', () => {
    const patch = (data: object): KubectlResult =>
      as('node-b', 'patch', ...CELLS, '--type=merge', '-p', JSON.stringify({ data }))
    for (const data of [{ k1: 'node-b' }, { k1: null }, { k2: 'node-a' }])
      expect(patch(data).stderr).toMatch(/Only an administrator gives a cell to another node, or takes it away/)
    for (const data of [{ k9: 'node-a' }, { il: 'node-b' }, { '0k9': 'node-b' }])
      expect(patch(data).stderr).toMatch(/An agent adds a cell only for the Node that its token is bound to/)
    succeed(patch({ k2: 'node-b' }))
    succeed(patch({ k3: 'node-b' }))
  })

  test('cannot change what is immutable, nor the rules', () => {
    const can = (question: string): string => as('node-a', 'auth', 'can-i', ...question.split(' ')).stdout.trim()
    const inBoxes = (question: string): string => can(`${question} -n boxyard`)
    for (const kind of ['domains', 'revocations']) expect(inBoxes(`patch ${kind}.boxyard.dev`)).toBe('no')
    for (const { plural } of FLEET_KINDS) {
      expect(inBoxes(`watch ${plural}.boxyard.dev`)).toBe('yes')
      expect(inBoxes(`create ${plural}.boxyard.dev`)).toBe('yes')
      expect(inBoxes(`deletecollection ${plural}.boxyard.dev`)).toBe('no')
      expect(can(`list ${plural}.boxyard.dev -n default`)).toBe('no')
    }
    for (const question of ['patch crds', 'patch validatingadmissionpolicies', 'list configmaps -n boxyard-system'])
      expect(can(question)).toBe('no')
  })
})

test('an agent reads and changes the Secret of the keys, and no other', () => {
  const keys = ['-n', 'boxyard-system', 'secret', 'boxyard-keys']
  succeed(as('node-a', 'get', ...keys))
  succeed(as('node-a', 'patch', ...keys, '--type=merge', '-p', '{"stringData":{"test":"yes"}}'))
  succeed(as('node-b', 'get', 'secrets', '-n', 'boxyard-system', '--field-selector=metadata.name=boxyard-keys'))
  expect(as('node-a', 'get', 'secrets', '-n', 'boxyard-system').stderr).toMatch(/cannot list resource "secrets"/)
  expect(as('node-a', 'get', 'secret', 'other', '-n', 'boxyard-system').stderr).toMatch(/cannot get resource "secrets"/)
  expect(as('node-a', 'delete', ...keys).stderr).toMatch(/cannot delete resource "secrets"/)
})

describe('an agent whose token is bound to no node', () => {
  test.each(FLEET_KINDS)('writes no $kind, and is told how to have one', ({ kind }) => {
    const remedy = /only with a token that is bound to its Node: kubectl create token .*--bound-object-kind=Node/
    expect(createAs('none', { ...fleetObject(kind) }).stderr).toMatch(remedy)
  })

  test('reads all of them, and has its pods as before', () => {
    for (const { plural } of FLEET_KINDS) succeed(as('none', '-n', 'boxyard', 'get', `${plural}.boxyard.dev`))
    expect(as('none', 'auth', 'can-i', 'create', 'pods', '-n', 'boxyard').stdout.trim()).toBe('yes')
    const patch = ['--type=merge', '-p', '{"data":{"k9":"node-a"}}']
    expect(as('none', 'patch', ...CELLS, ...patch).stderr).toMatch(/only for the Node that its token is bound to/)
  })
})

test('a token ends with its Node', async () => {
  const lost = plane.kubectlWith(
    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-lost"}}',
    'create',
    '-f',
    '-',
  )
  succeed(lost)
  kubeconfigs['lost'] = writeTokenOf('lost', '--bound-object-kind=Node', '--bound-object-name=node-lost')
  succeed(as('lost', '-n', 'boxyard', 'get', 'homes'))
  succeed(plane.kubectl('delete', 'node', 'node-lost'))
  const isRefused = (): boolean => /Unauthorized/.test(as('lost', '-n', 'boxyard', 'get', 'homes').stderr)
  await until(isRefused, 'the token is refused')
})

test('an administrator gives a cell to another node, whose agent then has its homes', async () => {
  succeed(createAs('node-a', fleetHome('adopted')))
  const give = (node: string): void =>
    void succeed(plane.kubectl('patch', ...CELLS, '--type=merge', '-p', JSON.stringify({ data: { k1: node } })))
  give('node-b')
  const mark = (who: string): number | null =>
    mergeAs(who, 'home/box.demo.adopted', { spec: { card: { port: 3000 } } }).exitCode
  await until(() => mark('node-b') === 0, 'node-b writes')
  expect(mark('node-a')).toBe(1)
  const spec = { node: 'node-b', nodeUid: nodeUids['node-b'] }
  succeed(mergeAs('node-b', 'agent/k1', { spec }))
  give('node-a')
  await until(() => mark('node-a') === 0, 'node-a writes again')
  succeed(mergeAs('node-a', 'agent/k1', { spec: { node: 'node-a', nodeUid: nodeUids['node-a'] } }))
})

describe('kubectl get', () => {
  beforeAll(() => {
    const objects = [
      fleetHome('shown', { epoch: 4 }),
      ...['Domain', 'Token', 'Revocation', 'Base', 'Project'].map((kind) => fleetObject(kind)),
    ]
    for (const object of objects) succeed(createAs('node-a', object))
    const free = { cpus: 1.5, ramMb: 2048, storageBytes: 1e9 }
    const status = { ready: true, draining: false, free, warm: 3, heartbeatAt: '2026-01-01T00:00:00.000Z' }
    succeed(mergeAs('node-a', 'agent/k1', { status }, '--subresource=status'))
  })

  test.each<[string, string, RegExp]>([
    ['homes', 'NAMESPACE NAME CELL EPOCH PHASE BASE AGE', /^boxyard box.demo.shown k1 4 Live debian \d+s$/],
    [
      'agents',
      'NAMESPACE NAME NODE READY DRAINING FREE CPUS FREE RAM MB WARM VERSION HEARTBEAT AGE',
      /^boxyard k1 node-a true false 1.5 2048 3 0.1.0 \S+ \S+$/,
    ],
    ['domains', 'NAMESPACE NAME PROJECT BOX OWNER SERVICE AGE', /^boxyard shop.example.org demo box_0{26} \d+s$/],
    [
      'tokens',
      'NAMESPACE NAME TOKEN PROJECTS PERMISSIONS EXPIRES AGE',
      /^boxyard tok-0{26} ci \["demo"\] \["read","exec"\] 2027-11-26T02:50:00.713Z \d+s$/,
    ],
    ['revocations', 'NAMESPACE NAME REVOKED UNTIL', /^boxyard tok-0{26} \S+ 2027-11-26T02:50:00.713Z$/],
    ['bases', 'NAMESPACE NAME VERSION CELL SOURCE BYTES AGE', /^boxyard debian 2 k1 host 123456789 \d+s$/],
    [
      'projects',
      'NAMESPACE NAME BOXES CPUS RAM MB STORAGE GB CELLS VERSION AGE',
      /^boxyard demo 10 4 4096 40 k1 2 \d+s$/,
    ],
  ])('shows %s in columns that people read', (plural, head, row) => {
    const { stdout } = succeed(plane.kubectl('get', `${plural}.boxyard.dev`, '-A'))
    const [first, ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().replaceAll(/\s+/g, ' '))
    expect(first).toBe(head)
    expect(rows.filter((each) => row.test(each))).toHaveLength(1)
  })

  test('shows all kinds as `boxyard`, and each by a short name', () => {
    const names = succeed(plane.kubectl('-n', 'boxyard', 'get', 'boxyard', '-o', 'name')).stdout
    for (const { kind } of FLEET_KINDS) {
      expect(names).toContain(`${kind.toLowerCase()}.boxyard.dev/`)
      succeed(plane.kubectl('-n', 'boxyard', 'get', `bx${kind.toLowerCase()}`))
    }
  })

  test('selects homes by cell, project, kind and phase, and agents by node', () => {
    const select = (kind: string, selector: string): string =>
      succeed(plane.kubectl('-n', 'boxyard', 'get', kind, `--field-selector=${selector}`, '-o', 'name')).stdout
    expect(select('homes', 'spec.cell=k1,spec.project=demo,spec.kind=box')).toContain('box.demo.shown')
    expect(select('homes', 'spec.phase=Lost')).toBe('')
    expect(select('homes', 'spec.cell=k2')).not.toContain('box.demo.shown')
    expect(select('agents', 'spec.node=node-b')).toBe('agent.boxyard.dev/k2\n')
  })
})

describe('an object of an agent of another version', () => {
  test('keeps what this version of the kinds has, and loses what it has not', () => {
    const newer: FleetObject = fleetHome('newer', { later: 'field' })
    const made = plane.kubectlWith(JSON.stringify(newer), 'create', '-f', '-', '--validate=false', '-o', 'json')
    expect(JSON.parse(succeed(made).stdout).spec).toEqual({ ...fleetHome('newer').spec, phase: 'Live' })
  })
})

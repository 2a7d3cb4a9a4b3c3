import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { type ControlPlane, startControlPlane } from '../helpers/pods/control-plane.ts'
import {
  FLEET_KINDS,
  type FleetObject,
  fleetHome,
  fleetObject,
  fleetProjectBase,
} from '../helpers/pods/fleet-objects.ts'
import { type KubectlResult, succeed } from '../helpers/pods/kubectl.ts'

// Tests what the schemas of a fleet's kinds accept, reject and show in a real API server.

const MANIFESTS = join(ROOT, 'infra/kubernetes')
let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane()
  succeed(plane.kubectl('apply', '-k', MANIFESTS))
  const crds = FLEET_KINDS.map(({ plural }) => `crd/${plural}.boxyard.dev`)
  succeed(plane.kubectl('wait', '--for=condition=Established', '--timeout=60s', ...crds))
})

afterAll(() => plane?.close())

const create = (object: object, ...more: string[]): KubectlResult =>
  plane.kubectlWith(JSON.stringify(object), 'create', '-f', '-', ...more)
const dryRun = (object: object): KubectlResult => create(object, '--dry-run=server')
const lines = (text: string): string[] => text.trim().split('\n')

/** Changes the spec by a merge patch. */
function change(resource: string, spec: object): KubectlResult {
  return plane.kubectl('-n', 'boxyard', 'patch', resource, '--type=merge', '-p', JSON.stringify({ spec }))
}

describe('the manifests', () => {
  test('change nothing when they are applied again, and leave the cells of a fleet alone', () => {
    const cells = ['-n', 'boxyard-system', 'configmap', 'boxyard-cells']
    const patch = ['--type=merge', '-p', '{"data":{"zz":"node-z"}}']
    succeed(plane.kubectl('patch', ...cells, ...patch))
    const { stdout, stderr } = succeed(plane.kubectl('apply', '-k', MANIFESTS))
    expect(lines(stdout).filter((line) => !line.endsWith(' unchanged'))).toEqual([])
    expect(stderr).toBe('')
    expect(succeed(plane.kubectl('get', ...cells, '-o', 'jsonpath={.data}')).stdout).toBe('{"zz":"node-z"}')
  })

  test('leave the keys of a fleet alone when they are applied again', () => {
    const secret = ['-n', 'boxyard-system', 'secret', 'boxyard-keys']
    succeed(plane.kubectl('patch', ...secret, '--type=merge', '-p', '{"stringData":{"channel.json":"x"}}'))
    succeed(plane.kubectl('apply', '-k', MANIFESTS))
    expect(succeed(plane.kubectl('get', ...secret, '-o', 'jsonpath={.data}')).stdout).toBe('{"channel.json":"eA=="}')
  })

  test.each(FLEET_KINDS)('describe and bound every field of a $kind', ({ plural }) => {
    const { stdout } = succeed(plane.kubectl('get', `crd/${plural}.boxyard.dev`, '-o', 'json'))
    const { spec, status } = JSON.parse(stdout) as Crd
    expect(status.storedVersions).toEqual(['v1alpha1'])
    expect(status.conditions.find(({ type }) => type === 'NonStructuralSchema')).toBeUndefined()
    const schema = spec.versions[0]?.schema.openAPIV3Schema ?? {}
    expect(faultsOf(schema, 'object')).toEqual([])
  })
})

describe('a valid object', () => {
  test.each(FLEET_KINDS)('of the kind $kind is taken', ({ kind }) => {
    expect(dryRun(fleetObject(kind))).toMatchObject({ exitCode: 0, stderr: '' })
  })

  test('may have the longest names, and a home is then within 2 KB', () => {
    const name = 'n'.repeat(63)
    const config = { cpus: 1024, ramMb: 16_777_216, region: name, storageGb: 1_048_576 }
    const card = { base: name, forkOf: `${name}@${name}`, port: 65_535, createdAt: '2026-11-26T02:50:00.713Z', config }
    const home = fleetHome(name, { project: name, createdBy: 'a'.repeat(64), epoch: Number.MAX_SAFE_INTEGER, card })
    const { stdout } = succeed(create(home, '--dry-run=server', '-o', 'json'))
    expect(stdout.replaceAll(/\s+/g, '').length).toBeLessThan(2048)
  })

  test('of a home is Live unless it says otherwise', () => {
    const { stdout } = succeed(create(fleetHome('web'), '--dry-run=server', '-o', 'jsonpath={.spec.phase}'))
    expect(stdout).toBe('Live')
  })
})

describe('a name belongs to the fields', () => {
  test('of a Base, with its project if it has one', () => {
    expect(dryRun(fleetProjectBase('demo'))).toMatchObject({ exitCode: 0, stderr: '' })
    const { spec, ...object } = fleetProjectBase('demo')
    expect(dryRun({ ...object, spec: { ...spec, project: 'other' } }).stderr).toMatch(/metadata.name must be spec.name/)
    expect(dryRun({ ...object, spec: { ...spec, project: undefined } }).stderr).toMatch(/metadata.name must be/)
  })

  test.each<[string, RegExp]>([
    ['Home', /metadata.name must be box.<project>.<name> or data.<project>.<name>/],
    ['Agent', /metadata.name must be spec.cell/],
    ['Domain', /metadata.name must be spec.domain/],
    ['Token', /metadata.name must be spec.id with "-"/],
    ['Revocation', /metadata.name must be spec.token with "-"/],
    ['Base', /metadata.name must be spec.name/],
    ['Project', /metadata.name must be spec.project/],
  ])('of a %s', (kind, message) => {
    const object = fleetObject(kind)
    expect(dryRun({ ...object, metadata: { ...object.metadata, name: 'other' } }).stderr).toMatch(message)
  })

  test('so a box and a volume may share one, and a second box may not', () => {
    succeed(create(fleetHome('shared')))
    succeed(create(fleetHome('shared', { kind: 'volume', uid: `vol_${'0'.repeat(26)}` })))
    expect(create(fleetHome('shared', { uid: `box_${'1'.repeat(26)}` })).stderr).toMatch(/AlreadyExists/)
  })
})

describe('a create is refused', () => {
  test.each<[string, string, Record<string, unknown>, RegExp]>([
    ['a kind that is neither', 'Home', { kind: 'pod' }, /spec.kind: Unsupported value: "pod"/],
    ['the id of a volume', 'Home', { uid: `vol_${'0'.repeat(26)}` }, /uid must begin with box_ for a box/],
    ['an id of another form', 'Home', { uid: 'box_1' }, /spec.uid in body should match/],
    ['a cell with letters that are read wrongly', 'Home', { cell: 'il' }, /spec.cell in body should match/],
    ['the epoch 0', 'Home', { epoch: 0 }, /spec.epoch in body should be greater than or equal to 1/],
    ['no epoch', 'Home', { epoch: undefined }, /spec.epoch: Required value/],
    ['a phase that is none', 'Home', { phase: 'Gone' }, /spec.phase: Unsupported value: "Gone"/],
    ['a creator that is no digest', 'Home', { createdBy: 'me' }, /spec.createdBy in body should match/],
    ['a card that is long', 'Home', { card: { base: 'b'.repeat(64) } }, /spec.card.base: Too long/],
    ['a field that no version has', 'Home', { status: 'running' }, /unknown field "spec.status"/],
    ['an environment', 'Home', { card: { environment: { A: 'b' } } }, /unknown field "spec.card.environment"/],
    ['a URL without a scheme', 'Agent', { channelUrl: '10.0.0.1:80' }, /spec.channelUrl in body should match/],
    ['an edge without a port', 'Agent', { edgeAddress: '10.0.0.1' }, /spec.edgeAddress in body should match/],
    ['protocol 0', 'Agent', { protocol: 0 }, /spec.protocol in body should be greater than or equal to 1/],
    ['no node', 'Agent', { node: undefined }, /spec.node: Required value/],
    ['a volume', 'Domain', { uid: `vol_${'0'.repeat(26)}` }, /spec.uid in body should match/],
    ['* beside a project', 'Token', { projects: ['*', 'demo'] }, /\* stands alone/],
    ['a project twice', 'Token', { projects: ['demo', 'demo'] }, /Duplicate value: "demo"/],
    ['no permission', 'Token', { permissions: [] }, /spec.permissions in body should have at least 1 items/],
    ['an end before its start', 'Token', { expiresAt: '2020-01-01T00:00:00Z' }, /expiresAt must be after createdAt/],
    ['a time that is none', 'Token', { expiresAt: 'soon' }, /spec.expiresAt in body must be of type date-time/],
    ['the token itself', 'Token', { token: 'eyJ' }, /unknown field "spec.token"/],
    ['an end before it began', 'Revocation', { until: '2020-01-01T00:00:00Z' }, /until must not be before revokedAt/],
    ['a project that is not in its name', 'Base', { project: 'demo' }, /metadata.name must be spec.name, or/],
    ['a project of another form', 'Base', { project: 'De mo' }, /spec.project in body should match/],
    ['the digest of no request', 'Base', { createdBy: 'me' }, /spec.createdBy in body should match/],
    ['more boxes than the quota', 'Project', slices({ boxes: 6 }, { boxes: 5 }), /more boxes than the quota/],
    ['more cores than the quota', 'Project', slices({ cpus: 3.9 }, { cpus: 0.2 }), /more cpus than the quota/],
    ['more memory than the quota', 'Project', slices({ ramMb: 4096 }, { ramMb: 1 }), /more ramMb than the quota/],
    ['more storage than the quota', 'Project', slices({ storageGb: 41 }, {}), /more storageGb than the quota/],
  ])('with %s: a %s', (_, kind, spec, message) => {
    expect(dryRun(fleetObject(kind, spec)).stderr).toMatch(message)
  })

  test('with two slices of one cell', () => {
    const { spec } = fleetObject('Project', slices({}, {}))
    const [slice] = spec['slices'] as object[]
    expect(dryRun(fleetObject('Project', { slices: [slice, slice] })).stderr).toMatch(
      /Duplicate value: \{"cell":"k1"\}/,
    )
  })

  test('and the whole of a quota may be divided, also where the parts are fractions', () => {
    succeed(dryRun(fleetObject('Project', slices({ boxes: 6, cpus: 3.9, ramMb: 4096 }, { boxes: 4, cpus: 0.1 }))))
    const unbounded = slices({ boxes: 600, storageGb: 1000 }, { cpus: 0.2 })
    succeed(dryRun(fleetObject('Project', { ...unbounded, quota: { cpus: 0.2 } })))
  })
})

describe('a change is refused', () => {
  beforeAll(() => {
    succeed(create(fleetHome('kept', { epoch: 3, createdBy: 'a'.repeat(64) })))
    succeed(create(fleetHome('plain')))
    for (const { kind } of FLEET_KINDS) if (kind !== 'Home') succeed(create(fleetObject(kind)))
    succeed(create(fleetProjectBase('demo')))
  })

  test.each<[string, object, RegExp]>([
    ['home/box.demo.kept', { kind: 'volume' }, /kind is immutable/],
    ['home/box.demo.kept', { project: 'other' }, /project is immutable/],
    ['home/box.demo.kept', { name: 'other' }, /name is immutable/],
    ['home/box.demo.kept', { uid: `box_${'1'.repeat(26)}` }, /uid is immutable/],
    ['home/box.demo.kept', { createdBy: 'b'.repeat(64) }, /createdBy is immutable/],
    ['home/box.demo.kept', { createdBy: null }, /createdBy is immutable/],
    ['home/box.demo.plain', { createdBy: 'b'.repeat(64) }, /createdBy is immutable/],
    ['home/box.demo.kept', { epoch: 2 }, /epoch never falls/],
    ['home/box.demo.kept', { cell: 'k2' }, /cell may change only together with a higher epoch/],
    ['agent/k1', { cell: 'k2' }, /cell is immutable/],
    ['agent/k1', { instance: 'zzzz9999' }, /the cell belongs to another data directory/],
    ['domain/shop.example.org', { service: 'site' }, /delete it, and create it for the other one/],
    [`token/tok-${'0'.repeat(26)}`, { permissions: ['admin'] }, /revoke the token, and mint another/],
    [`token/tok-${'0'.repeat(26)}`, { name: 'other' }, /revoke the token, and mint another/],
    [`token/tok-${'0'.repeat(26)}`, { createdBy: `tok_${'1'.repeat(26)}` }, /revoke the token, and mint another/],
    [`token/tok-${'0'.repeat(26)}`, { cell: 'k1' }, /revoke the token, and mint another/],
    [`token/tok-${'0'.repeat(26)}`, { expiresAt: null }, /only moved to a later time/],
    [`token/tok-${'0'.repeat(26)}`, { expiresAt: '2027-11-26T02:50:00Z' }, /only moved to a later time/],
    [`revocation/tok-${'0'.repeat(26)}`, { until: null }, /a revocation is immutable/],
    ['base/debian', { name: 'other' }, /name is immutable/],
    ['base/debian', { version: 1 }, /version never falls/],
    ['base/debian', { uid: `bas_${'1'.repeat(26)}` }, /uid may change only together with a higher version/],
    ['base/debian', { project: 'demo' }, /project is immutable/],
    ['base/demo.debian', { project: 'other' }, /project is immutable/],
    ['base/demo.debian', { project: null }, /project is immutable/],
    ['project/demo', { project: 'other' }, /project is immutable/],
    ['project/demo', { version: 1 }, /version never falls/],
    ['project/demo', { quota: { boxes: 1 } }, /slices must not have more boxes than the quota/],
  ])('of %s to %j', (resource, spec, message) => {
    expect(change(resource, spec).stderr).toMatch(message)
  })

  test('and what may change does', () => {
    succeed(change('home/box.demo.kept', { cell: 'k2', epoch: 4, move: 'm-1' }))
    succeed(change('home/box.demo.kept', { phase: 'Lost', move: null, card: { config: { cpus: 2 } } }))
    succeed(change('agent/k1', { node: 'node-b', nodeUid: 'b', version: '0.2.0' }))
    succeed(change('base/debian', { version: 3, uid: `bas_${'1'.repeat(26)}` }))
    succeed(change(`token/tok-${'0'.repeat(26)}`, { expiresAt: '2028-11-26T02:50:00Z', keyId: 'another' }))
    succeed(change('project/demo', { version: 3, quota: { boxes: 20 } }))
  })

  test('of a status by way of the spec, and of a spec by way of the status', () => {
    const patch = (spec: object, ...more: string[]): void =>
      void succeed(
        plane.kubectl('-n', 'boxyard', 'patch', 'agent/k1', '--type=merge', '-p', JSON.stringify(spec), ...more),
      )
    patch({ status: { ready: true } })
    patch({ spec: { version: 'smuggled' }, status: { warm: 3 } }, '--subresource=status')
    const path = 'jsonpath={.spec.version} {.status}'
    expect(succeed(plane.kubectl('-n', 'boxyard', 'get', 'agent/k1', '-o', path)).stdout).toBe('0.2.0 {"warm":3}')
  })
})

interface Crd {
  spec: { versions: { schema: { openAPIV3Schema: Schema } }[] }
  status: { storedVersions: string[]; conditions: { type: string }[] }
}

interface Schema {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  [bound: string]: unknown
}

/** Returns the paths of fields that lack a description or a limit. */
function faultsOf(schema: Schema, path: string): string[] {
  const isBounded = {
    string: 'maxLength' in schema || 'enum' in schema,
    integer: 'minimum' in schema && 'maximum' in schema,
    number: 'minimum' in schema && 'maximum' in schema,
    array: 'maxItems' in schema,
  }[schema.type ?? '']
  const isMeta = /^object\.(apiVersion|kind|metadata)$/.test(path)
  const own = [
    ...(schema.description || path.endsWith('[]') || isMeta ? [] : [`${path} is not described`]),
    ...(isBounded === false && !isMeta ? [`${path} has no bound`] : []),
  ]
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => faultsOf(field, `${path}.${name}`))
  return [...own, ...fields, ...(schema.items ? faultsOf(schema.items, `${path}[]`) : [])]
}

/** Returns a spec with one slice for each cell. */
function slices(...amounts: Record<string, number>[]): FleetObject['spec'] {
  const none = { boxes: 0, cpus: 0, ramMb: 0, storageGb: 0 }
  return { slices: amounts.map((amount, i) => ({ cell: `k${i + 1}`, ...none, ...amount })) }
}

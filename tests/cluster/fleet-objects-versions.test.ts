import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { type ControlPlane, startControlPlane } from '../helpers/pods/control-plane.ts'
import { fleetHome } from '../helpers/pods/fleet-objects.ts'
import { succeed } from '../helpers/pods/kubectl.ts'
import { until } from '../helpers/pods/weather.ts'

// Performs the upgrades of the kinds and the rollback from docs/fleet-objects.md on a real API server.

const KIND = 'crd/homes.boxyard.dev'
let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane()
  applyManifests()
})

afterAll(() => plane?.close())

const kubectl = (...args: string[]): string => succeed(plane.kubectl(...args)).stdout
const kubectlWith = (object: object, ...args: string[]): string =>
  succeed(plane.kubectlWith(JSON.stringify(object), ...args)).stdout
const readKind = (): Kind => JSON.parse(kubectl('get', KIND, '-o', 'json'))
const readSpec = (name: string): object =>
  JSON.parse(kubectl('-n', 'boxyard', 'get', `homes.boxyard.dev/${name}`, '-o', 'json')).spec
const merge = (name: string, spec: object): string =>
  kubectl('-n', 'boxyard', 'patch', `homes.boxyard.dev/${name}`, '--type=merge', '-p', JSON.stringify({ spec }))

function applyManifests(): void {
  kubectl('apply', '-k', join(ROOT, 'infra/kubernetes'))
  kubectl('wait', '--for=condition=Established', '--timeout=60s', KIND)
}

/** Replaces the versions of the kind, and waits until the API server serves them. */
async function replaceVersions(versions: readonly Version[]): Promise<void> {
  kubectlWith(kindWith(versions), 'apply', '-f', '-')
  const served = versions.filter((version) => version.served).map(({ name }) => name)
  const discover = (): string => kubectl('get', '--raw', '/apis/boxyard.dev')
  await until(() => {
    const all = JSON.parse(discover()).versions.map(({ version }: { version: string }) => version)
    return served.every((name) => all.includes(name))
  }, 'the versions are served')
}

/** Returns the manifest of the kind with other versions. */
function kindWith(versions: readonly Version[]): object {
  const { apiVersion, kind, metadata, spec } = readKind()
  return { apiVersion, kind, metadata: { name: metadata.name, labels: metadata.labels }, spec: { ...spec, versions } }
}

/** Returns the version of the manifests with one more field. */
function withLater(version: Version): Version {
  const newer = structuredClone(version)
  newer.schema.openAPIV3Schema.properties.spec.properties['later'] = { type: 'string', maxLength: 16 }
  return newer
}

describe('a field that a newer version of the manifests adds', () => {
  let today: Version

  beforeEach(async () => {
    today = readKind().spec.versions[0] as Version
    await replaceVersions([withLater(today)])
  })

  const createNewer = async (name: string): Promise<void> => {
    const home = fleetHome(name, { later: 'kept' })
    const create = (): boolean => plane.kubectlWith(JSON.stringify(home), 'create', '-f', '-').exitCode === 0
    await until(create, 'the API server knows the field')
  }

  test('stays when an agent that does not know it changes another, and objects from before stay valid', async () => {
    await createNewer('newer')
    kubectlWith(fleetHome('older'), 'create', '-f', '-')
    merge('box.demo.newer', { card: { port: 3000 } })
    merge('box.demo.older', { card: { port: 3000 } })
    expect(readSpec('box.demo.newer')).toMatchObject({ later: 'kept', card: { port: 3000, base: 'debian' } })
    applyManifests()
  })

  test('is hidden after the manifests are rolled back, and gone once an object is written', async () => {
    await createNewer('read')
    await createNewer('written')
    applyManifests()
    await until(() => !('later' in readSpec('box.demo.read')), 'the field is hidden')
    merge('box.demo.written', { card: { port: 3000 } })
    await replaceVersions([withLater(today)])
    await until(() => 'later' in readSpec('box.demo.read'), 'the field is there again')
    expect(readSpec('box.demo.written')).not.toHaveProperty('later')
    applyManifests()
  })
})

test('a new version of the group is served beside the old one, becomes the stored one, and can be undone until then', async () => {
  kubectlWith(fleetHome('long-lived'), 'create', '-f', '-')
  const [alpha] = readKind().spec.versions as [Version]
  const beta = { ...alpha, name: 'v1beta1' }
  await replaceVersions([alpha, { ...beta, storage: false }])
  const asBeta = 'homes.v1beta1.boxyard.dev/box.demo.long-lived'
  const read = (): string => kubectl('-n', 'boxyard', 'get', asBeta, '-o', 'jsonpath={.apiVersion} {.spec.epoch}')
  await until(() => plane.kubectl('-n', 'boxyard', 'get', asBeta).exitCode === 0, 'it is read as v1beta1')
  expect(read()).toBe('boxyard.dev/v1beta1 1')
  expect(readKind().status.storedVersions).toEqual(['v1alpha1'])
  // Rolls back to the first release.
  applyManifests()
  expect(readKind().spec.versions.map(({ name }) => name)).toEqual(['v1alpha1'])

  await replaceVersions([{ ...alpha, storage: false }, beta])
  expect(readKind().status.storedVersions).toEqual(['v1alpha1', 'v1beta1'])
  const early = plane.kubectlWith(JSON.stringify(kindWith([beta])), 'apply', '-f', '-')
  expect(early.stderr).toMatch(/v1alpha1.*must remain in spec.versions/)
  succeed(plane.kubectlWith(kubectl('get', 'homes.boxyard.dev', '-A', '-o', 'json'), 'replace', '-f', '-'))
  const stored = JSON.stringify({ status: { storedVersions: ['v1beta1'] } })
  kubectl('patch', KIND, '--subresource=status', '--type=merge', '-p', stored)
  await replaceVersions([beta])
  expect(read()).toBe('boxyard.dev/v1beta1 1')
})

interface Kind {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string> }
  spec: { versions: Version[] }
  status: { storedVersions: string[] }
}

interface Version {
  name: string
  served: boolean
  storage: boolean
  schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } }
}

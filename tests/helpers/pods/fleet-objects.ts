/** An object of the API group boxyard.dev. */
export interface FleetObject {
  apiVersion: 'boxyard.dev/v1alpha1'
  kind: string
  metadata: { name: string; namespace: string }
  spec: Record<string, unknown>
}

/** The kinds of a fleet. */
export const FLEET_KINDS = [
  { kind: 'Home', plural: 'homes' },
  { kind: 'Agent', plural: 'agents' },
  { kind: 'Domain', plural: 'domains' },
  { kind: 'Token', plural: 'tokens' },
  { kind: 'Revocation', plural: 'revocations' },
  { kind: 'Base', plural: 'bases' },
  { kind: 'Project', plural: 'projects' },
] as const

/** Returns the `Home` of a name in project `demo` and cell k1. `spec` replaces fields. */
export function fleetHome(name: string, spec: Record<string, unknown> = {}): FleetObject {
  const config = { cpus: 1, ramMb: 512, region: 'local', storageGb: 10 }
  const card = { base: 'debian', createdAt: CREATED_AT, config }
  const whole = { kind: 'box', project: 'demo', name, uid: `box_${ZEROS}`, cell: 'k1', epoch: 1, card, ...spec }
  return wrap('Home', `${whole.kind === 'volume' ? 'data' : 'box'}.${whole.project}.${name}`, whole)
}

/** Returns the `Agent` of a cell. */
export function fleetAgent(cell: string, spec: Record<string, unknown> = {}): FleetObject {
  const urls = { channelUrl: 'http://10.0.0.1:8090', dataUrl: 'http://10.0.0.1:8091', edgeAddress: '10.0.0.1:8081' }
  return wrap('Agent', cell, {
    cell,
    node: 'node-a',
    nodeUid: 'a',
    instance: 'abcd1234',
    ...urls,
    version: '0.1.0',
    protocol: 1,
    ...spec,
  })
}

/** Returns the `Base` of a project, in cell k1. */
export function fleetProjectBase(project: string): FleetObject {
  const { spec } = fleetObject('Base')
  return wrap('Base', `${project}.${String(spec['name'])}`, { ...spec, project })
}

/** Returns a valid object of a kind. `spec` replaces fields. */
export function fleetObject(kind: string, spec: Record<string, unknown> = {}): FleetObject {
  if (kind === 'Home') return { ...fleetHome('web'), spec: { ...fleetHome('web').spec, ...spec } }
  if (kind === 'Agent') return fleetAgent('k1', spec)
  const [name, whole] = OTHERS[kind] ?? []
  if (name === undefined) throw new Error(`There is no kind ${kind}.`)
  return wrap(kind, name, { ...whole, ...spec })
}

function wrap(kind: string, name: string, spec: Record<string, unknown>): FleetObject {
  return { apiVersion: 'boxyard.dev/v1alpha1', kind, metadata: { name, namespace: 'boxyard' }, spec }
}

const ZEROS = '0'.repeat(26)
const CREATED_AT = '2026-11-26T02:50:00.713Z'
const EXPIRES_AT = '2027-11-26T02:50:00.713Z'

/** Name and spec of each other kind. */
const OTHERS: Record<string, [string, Record<string, unknown>]> = {
  Domain: ['shop.example.org', { domain: 'shop.example.org', project: 'demo', uid: `box_${ZEROS}` }],
  Token: [
    `tok-${ZEROS}`,
    {
      ...{ id: `tok_${ZEROS}`, root: `tok_${ZEROS}`, name: 'ci', projects: ['demo'], permissions: ['read', 'exec'] },
      ...{ createdAt: CREATED_AT, expiresAt: EXPIRES_AT },
    },
  ],
  Revocation: [`tok-${ZEROS}`, { token: `tok_${ZEROS}`, revokedAt: CREATED_AT, until: EXPIRES_AT }],
  Base: [
    'debian',
    {
      ...{ name: 'debian', uid: `bas_${ZEROS}`, version: 2, cell: 'k1' },
      ...{ source: 'host', sizeBytes: 123_456_789, createdAt: CREATED_AT },
    },
  ],
  Project: [
    'demo',
    {
      ...{ project: 'demo', version: 2, quota: { boxes: 10, cpus: 4, ramMb: 4096, storageGb: 40 } },
      slices: [{ cell: 'k1', boxes: 5, cpus: 2, ramMb: 2048, storageGb: 20 }],
    },
  ],
}

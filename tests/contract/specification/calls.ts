import { ATTACH_DATA, CREATE_BOX, DETACH_DATA, GET_HEALTH, GET_VERSION, UPDATE_BOX } from './routes.ts'
import type { Route } from './shape.ts'

/** Defaults of the service, which a client learns from the first box. */
export interface KnownDefaults {
  base: string
  region: string
}

/** A request of a client that knows only the specification, and part of the expected answer. */
export interface SpecifiedCall {
  title: string
  route: Route
  /** The name in the path. The project is `contract`. */
  name?: string
  body?: (known: KnownDefaults) => unknown
  /** Method to use instead of the route's own. */
  method?: string
  /** False sends no token. */
  hasToken?: false
  /** Part of the answer. Absent for a refusal. */
  shows?: (known: KnownDefaults) => object
}

const MAPS = { environment: { GREETING: 'hello' }, tags: { team: 'core' } }
/** A small box, with cores and sizes that every host has. */
const SMALL = { cpus: 0.5, ram_mb: 64, storage_gb: 0.25 }
const config = ({ region }: KnownDefaults): object => ({ ...SMALL, region })
const mountsOf = (path: string, read_only: boolean): object => ({ data_mounts: [{ name: 'db', path, read_only }] })

export const CREATES: readonly SpecifiedCall[] = [
  {
    title: 'a box by its name alone',
    route: CREATE_BOX,
    body: () => ({ name: 'plain' }),
    shows: () => ({ name: 'plain', project: 'contract' }),
  },
  {
    title: 'a box with null for each field that may be null',
    route: CREATE_BOX,
    body: () => ({ name: 'nulls', base: null, fork: null, data_mounts: null }),
    shows: ({ base }) => ({ name: 'nulls', base }),
  },
  {
    title: 'a box with a base and each other field',
    route: CREATE_BOX,
    body: (known) => ({
      ...{ name: 'full', base: known.base, config: config(known), ...mountsOf('/data', true), ...MAPS },
    }),
    shows: (known) => ({ name: 'full', base: known.base, config: config(known), ...mountsOf('/data', true), ...MAPS }),
  },
  {
    title: 'a fork',
    route: CREATE_BOX,
    body: () => ({ name: 'forked', fork: 'plain' }),
    shows: ({ base }) => ({ name: 'forked', base }),
  },
]

export const UPDATES: readonly SpecifiedCall[] = [
  ['config', (known: KnownDefaults) => ({ config: config(known) })] as const,
  ['environment', () => ({ environment: MAPS.environment })] as const,
  ['port', () => ({ port: 3000 })] as const,
  ['tags', () => ({ tags: MAPS.tags })] as const,
  ['termination_grace_period_seconds', () => ({ termination_grace_period_seconds: 5 })] as const,
].map(([field, body]) => ({ title: `${field} alone`, route: UPDATE_BOX, name: 'plain', body, shows: body }))

export const BOUNDS: readonly SpecifiedCall[] = [
  {
    title: 'the lowest grace period and port',
    route: UPDATE_BOX,
    name: 'plain',
    body: () => ({ termination_grace_period_seconds: 0, port: 0 }),
    shows: () => ({ termination_grace_period_seconds: 0 }),
  },
  {
    title: 'the highest grace period of 32 bits',
    route: UPDATE_BOX,
    name: 'plain',
    body: () => ({ termination_grace_period_seconds: 2_147_483_647 }),
    shows: () => ({ termination_grace_period_seconds: 2_147_483_647 }),
  },
]

export const MOUNTS: readonly SpecifiedCall[] = [
  {
    title: 'a volume read-only',
    route: ATTACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain', path: '/mnt/db', read_only: true }),
    shows: () => ({ name: 'plain', ...mountsOf('/mnt/db', true) }),
  },
  {
    title: 'a volume',
    route: DETACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain' }),
    shows: () => ({ name: 'plain', data_mounts: [] }),
  },
  {
    title: 'a volume without read_only',
    route: ATTACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain', path: '/mnt/db' }),
    shows: () => ({ name: 'plain', ...mountsOf('/mnt/db', false) }),
  },
]

export const REPORTS: readonly SpecifiedCall[] = [
  { title: 'the health', route: GET_HEALTH, shows: () => ({}) },
  { title: 'the version', route: GET_VERSION, shows: () => ({}) },
]

export const REFUSED_CALLS: readonly SpecifiedCall[] = [
  { title: 'another method for the health', route: GET_HEALTH, method: 'DELETE' },
  { title: 'another method for the version', route: GET_VERSION, method: 'DELETE' },
  { title: 'a box without a name', route: CREATE_BOX, body: () => ({}) },
  { title: 'a name of the wrong type', route: CREATE_BOX, body: () => ({ name: 1 }) },
  { title: 'a null name', route: CREATE_BOX, body: () => ({ name: null }) },
  { title: 'a second box of a name', route: CREATE_BOX, body: () => ({ name: 'plain' }) },
  { title: 'a box without a token', route: CREATE_BOX, body: () => ({ name: 'secret' }), hasToken: false },
  { title: 'environment of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', environment: [] }) },
  { title: 'tags of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', tags: 'a' }) },
  { title: 'config of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', config: { cpus: '1' } }) },
  { title: 'a fork of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', fork: true }) },
  { title: 'a base of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', base: 1 }) },
  { title: 'data_mounts of the wrong type', route: CREATE_BOX, body: () => ({ name: 'wrong', data_mounts: {} }) },
  ...[{ port: -1 }, { port: 2_147_483_648 }, { port: 1.5 }, { port: '80' }].map((body) => refusedUpdate(body)),
  ...[-1, 2_147_483_648, 0.5, '5'].map((seconds) => refusedUpdate({ termination_grace_period_seconds: seconds })),
  { title: 'an update of no box', route: UPDATE_BOX, name: 'none', body: () => ({ port: 80 }) },
  { title: 'an update without a token', route: UPDATE_BOX, name: 'plain', body: () => ({}), hasToken: false },
  { title: 'an attach without a path', route: ATTACH_DATA, name: 'db', body: () => ({ box: 'plain' }) },
  { title: 'an attach without a box', route: ATTACH_DATA, name: 'db', body: () => ({ path: '/mnt/x' }) },
  { title: 'an attach to no box', route: ATTACH_DATA, name: 'db', body: () => ({ box: 'none', path: '/mnt/x' }) },
  { title: 'an attach of no volume', route: ATTACH_DATA, name: 'none', body: () => ({ box: 'plain', path: '/mnt/x' }) },
  {
    title: 'read_only of the wrong type',
    route: ATTACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain', path: '/mnt/x', read_only: 'yes' }),
  },
  {
    title: 'an attach without a token',
    route: ATTACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain', path: '/mnt/x' }),
    hasToken: false,
  },
  { title: 'a detach without a box', route: DETACH_DATA, name: 'db', body: () => ({}) },
  { title: 'a detach from no box', route: DETACH_DATA, name: 'db', body: () => ({ box: 'none' }) },
  { title: 'a detach of no volume', route: DETACH_DATA, name: 'none', body: () => ({ box: 'plain' }) },
  {
    title: 'a detach without a token',
    route: DETACH_DATA,
    name: 'db',
    body: () => ({ box: 'plain' }),
    hasToken: false,
  },
]

function refusedUpdate(body: object): SpecifiedCall {
  return { title: JSON.stringify(body), route: UPDATE_BOX, name: 'plain', body: () => body }
}

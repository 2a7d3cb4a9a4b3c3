import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { untilSucceeds } from './eventually.ts'
import { type Client, createClient } from './front/client.ts'
import { directoriesOf } from './leftovers.ts'
import type { SharedService } from './shared-service.ts'

/** Returns the service's own faults from its health report. @throws Error if it does not serve */
export async function serviceFaultsOf(service: SharedService): Promise<string[]> {
  const { status, body, text } = await clientOf(service).get('/healthz')
  if (status !== 200) throw new Error(`GET /healthz answered ${status}: ${text}`)
  const faults = body.problems.filter(({ code }: { code: string }) => FAULTS.includes(code))
  return faults.map(({ code, evidence }: { code: string; evidence: string }) => `${code}: ${evidence}`)
}

/** Deletes the records of test files in a service and waits until none is left. @throws Error that lists the rest after two minutes */
export async function bringToRest(service: SharedService): Promise<void> {
  const client = clientOf(service)
  await untilSucceeds(async () => {
    await deleteAll(client)
    const { body: storage } = await client.get('/v1/storage')
    const left = {
      records: await listAll(client),
      subvolumes: [...storage.orphans, ...(storage.deleting > 0 ? [`${storage.deleting} that are being deleted`] : [])],
      cgroups: cgroupsOf(service),
      faults: await serviceFaultsOf(service),
    }
    if (Object.values(left).some(({ length }) => length > 0)) throw new Error(`These are left: ${JSON.stringify(left)}`)
  })
}

/** Deletes records in the order of their dependencies, because boxes hold volumes. */
async function deleteAll(client: Client): Promise<void> {
  for (const made of MADE) {
    const records = await list(client, made)
    await Promise.all(records.map((record) => client.delete(made.pathOf(record))))
  }
  for (const project of await limitedProjects(client))
    await client.put(`/v1/projects/${project}/quota`, { allowed: null })
}

async function listAll(client: Client): Promise<string[]> {
  const lists = MADE.map(async (made) => (await list(client, made)).map((record) => made.pathOf(record)))
  return [...(await Promise.all(lists)).flat(), ...(await limitedProjects(client))]
}

/** Returns the projects with a limit in their quota. A test service has none by default. */
async function limitedProjects(client: Client): Promise<string[]> {
  const { projects } = (await client.get('/v1/projects?max_results=1000')).body
  const limited = projects.filter(({ allowed }: { allowed: object }) =>
    Object.values(allowed).some((most) => most !== null),
  )
  return limited.map(({ project }: { project: string }) => project)
}

interface Listed {
  id: string
  name: string
  project: string | null
  volume: string
  source: string
  created_by: string | null
  revoked_at: string | null
  expires_at: string | null
}

/** Returns all pages of a list, without records that the service created itself. */
async function list(client: Client, { path, field, isMade }: MadeList): Promise<Listed[]> {
  const records: Listed[] = []
  for (let token = ''; ; ) {
    const { status, text, body } = await client.get(`${path}?max_results=1000${token}`)
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`)
    records.push(...body[field])
    if (!body.has_more) return records.filter((record) => isMade?.(record) ?? true)
    token = `&continuation_token=${body.next_continuation_token}`
  }
}

/** Lists the cgroups of boxes in every hierarchy. */
function cgroupsOf({ dataDir }: SharedService): string[] {
  const instance = readFileSync(join(dataDir, 'instance'), 'utf8').trim()
  const roots = ['', ...readdirSync(CGROUPS)].map((root) => join(CGROUPS, root, 'boxyard', instance))
  return roots.flatMap((root) => directoriesOf(root).slice(1))
}

function clientOf(service: SharedService): Client {
  return createClient(
    () => service.url,
    () => service.adminToken,
  )
}

/** An API list with records that test files create. */
interface MadeList {
  path: string
  field: string
  /** Returns false for a record that needs no deletion. Default: all need it. */
  isMade?(record: Listed): boolean
  pathOf(record: Listed): string
}

const MADE: readonly MadeList[] = [
  {
    path: '/v1/projects/-/boxes',
    field: 'boxes',
    pathOf: ({ project, name }) => `/v1/projects/${project}/boxes/${name}`,
  },
  {
    path: '/v1/projects/-/backups',
    field: 'backups',
    pathOf: ({ project, volume, id }) => `/v1/projects/${project}/data/${volume}/backups/${id}`,
  },
  {
    path: '/v1/projects/-/data',
    field: 'volumes',
    pathOf: ({ project, name }) => `/v1/projects/${project}/data/${name}`,
  },
  {
    path: '/v1/projects/-/bases',
    field: 'bases',
    pathOf: ({ project, name }) => `/v1/projects/${project}/bases/${name}`,
  },
  {
    path: '/v1/bases',
    field: 'bases',
    isMade: ({ source }) => source !== 'host',
    pathOf: ({ name }) => `/v1/projects/any/bases/${name}?shared=true`,
  },
  {
    path: '/v1/tokens',
    field: 'tokens',
    isMade: ({ created_by: creator, revoked_at: revoked, expires_at: expires }) =>
      creator !== null && revoked === null && !(expires !== null && Date.parse(expires) < Date.now()),
    pathOf: ({ id }) => `/v1/tokens/${id}`,
  },
]

const CGROUPS = '/sys/fs/cgroup'
/** Codes of service faults. Leaves out faults of the host, because tests in other workers cause some. */
const FAULTS = [
  ...['boxes_unknown', 'box_start_failed', 'missing_subvolumes', 'unknown_subvolumes', 'remains_not_destroyed'],
  ...['pool_full', 'pool_read_only', 'pool_not_backed', 'storage_errors', 'scrub_errors', 'scrub_failed'],
]

import { hostOfBox, hostOfPreview, hostOfService } from '../../../agent/core/common/urls.ts'
import { subvolumeOwners } from '../../../agent/core/health/subvolume-faults.ts'
import { AUTOMATIC_SNAPSHOTS_MAX } from '../../../agent/core/snapshots/automatic.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { ForkRecord, ServiceRecord } from '../../../agent/ports/store/services.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import type { Tombstone } from '../../../agent/ports/store/tombstones.ts'
import { backupDirectory, DELETED } from '../../../shared/backup-manifest.ts'
import { AT_EDGE } from './agent.ts'
import { imaginedAddress } from './runtime.ts'
import { type ImaginedBox, type ImaginedWorld, imaginedPath } from './world.ts'

/**
 * Lists differences between records and host, and unfinished steps. Returns an empty array if all agree. With `leaves`, accepts state that
 * the next start of the agent cleans up:
 * - subvolumes that have a tombstone
 * - writable subvolumes that a restore has replaced
 * - unfinished jobs and deletions of backups
 * - ended commands that the agent has yet to forget
 */
export async function findDifferences(store: Store, world: ImaginedWorld, { leaves = false } = {}): Promise<string[]> {
  const boxes: BoxRecord[] = []
  for await (const record of store.boxes.each()) boxes.push(record)
  const services: ServiceRecord[] = []
  for await (const record of store.services.each()) services.push(record)
  const forks = services.flatMap(instancesOf).flatMap(({ fork }) => fork ?? [])
  const forkIds = new Set(
    forks.flatMap(({ boxId, root, mounts }) => [boxId, root, ...mounts.map((each) => each.subvolume)]),
  )
  const tombstones = (await store.tombstones.all()).filter(({ id }) => !forkIds.has(id))
  const surplus = [...Map.groupBy(await store.snapshots.all(), ({ owner }) => owner.id).values()].filter(
    (snapshots) => snapshots.filter(({ automatic }) => automatic).length > AUTOMATIC_SNAPSHOTS_MAX,
  )
  const jobs = [...(await store.operations.unfinishedJobs()), ...(await store.backups.running())].map(({ id }) => id)
  return [
    ...(await differencesOfPool(store, world, { boxes, forks, left: leaves ? tombstones : null })),
    ...(leaves
      ? []
      : differ(
          'tombstones',
          tombstones.map(({ id }) => id),
          [],
        )),
    ...boxes.flatMap((box) => differencesOfBox(box, world.boxes.get(box.id) ?? null)),
    ...differ(
      'running boxes',
      [...world.boxes.keys()].filter((id) => !forkIds.has(id)),
      boxes.filter(isRunning).map(({ id }) => id),
    ),
    ...differ(
      'frozen boxes',
      [...world.boxes].flatMap(([id, { isFrozen }]) => (isFrozen ? id : [])),
      [],
    ),
    ...services.flatMap((service) => differencesOfService(service, boxes)),
    ...differencesOfCommands(services, world, leaves),
    ...differ(
      'routes',
      [...world.routes.values()].map((route) => Object.values(route).join(' ')),
      routesOf(boxes, services, world),
    ),
    ...(leaves ? [] : differ('snapshots of restores that are too many', surplus, [])),
    ...(leaves ? [] : differ('backups that are deleted in part', await halfDeleted(store, world), [])),
    ...(leaves ? [] : differ('jobs that have not ended', jobs, [])),
    ...world.violations,
  ]
}

async function halfDeleted(store: Store, { objects }: ImaginedWorld): Promise<string[]> {
  const isMarked = ({ project, volumeId, id }: BackupRecord): boolean =>
    objects.has(backupDirectory(project, volumeId, id) + DELETED)
  return (await store.backups.all()).filter((each) => each.deletedAt === null && isMarked(each)).map(({ id }) => id)
}

interface PoolUsers {
  boxes: readonly BoxRecord[]
  forks: readonly ForkRecord[]
  /** Tombstones whose subvolumes can still exist. Automatic snapshots can then still be writable. Null accepts neither. */
  left: readonly Tombstone[] | null
}

async function differencesOfPool(
  store: Store,
  { pool, owners }: ImaginedWorld,
  { boxes, forks, left }: PoolUsers,
): Promise<string[]> {
  const subvolumes = await expectedSubvolumes(store, boxes)
  for (const { root, mounts } of forks) {
    subvolumes.set(root, false)
    for (const { subvolume, readOnly } of mounts) if (!readOnly) subvolumes.set(subvolume, false)
  }
  const replaced = (await store.snapshots.all()).filter(({ automatic }) => automatic && left !== null)
  const open = new Set(replaced.flatMap(({ subvolume, data }) => [subvolume, ...data.map((part) => part.subvolume)]))
  const dying = new Set(left?.map(({ root }) => root))
  const quotas = [
    ...boxes.map(({ root, config }) => [root, config.storage_gb] as const),
    ...(await store.volumes.all()).map(({ subvolume, sizeGb }) => [subvolume, sizeGb] as const),
  ]
  const found = [...pool.keys()].filter((name) => !dying.has(name))
  const sealed = [...subvolumes].filter(([name]) => !open.has(name))
  const accounts = await subvolumeOwners(store)
  return [
    ...[...accounts].flatMap(([name, project]) => differ(`project of ${name}`, [owners.get(name)], [project])),
    ...differ('subvolumes', found, [...subvolumes.keys()]),
    ...sealed.flatMap(([name, isSealed]) => differ(`read-only of ${name}`, [pool.get(name)?.isReadOnly], [isSealed])),
    ...quotas.flatMap(([name, gb]) => differ(`quota of ${name}`, [pool.get(name)?.quotaBytes], [gb * 1024 ** 3])),
  ]
}

/** Reports two lists whose entries differ. Ignores their order. */
function differ(what: string, found: readonly unknown[], expected: readonly unknown[]): string[] {
  const [left, right] = [found, expected].map((list) => JSON.stringify(list.map(String).toSorted()))
  return left === right ? [] : [`${what}: found ${left}, expected ${right}`]
}

/** Returns the names of the subvolumes that records have. The value is true for a read-only subvolume. */
async function expectedSubvolumes(store: Store, boxes: readonly BoxRecord[]): Promise<Map<string, boolean>> {
  const sealed = [
    ...(await store.snapshots.all()).flatMap(({ subvolume, data }) => [
      subvolume,
      ...data.map((part) => part.subvolume),
    ]),
    ...(await store.backups.all()).flatMap(({ subvolume }) => subvolume ?? []),
    ...(await store.bases.all()).map(({ subvolume }) => subvolume),
  ]
  const writable = [...boxes.map(({ root }) => root), ...(await store.volumes.all()).map(({ subvolume }) => subvolume)]
  return new Map([...sealed.map((name) => [name, true] as const), ...writable.map((name) => [name, false] as const)])
}

function isRunning({ observed }: BoxRecord): boolean {
  return observed.status === 'running'
}

function differencesOfBox(record: BoxRecord, box: ImaginedBox | null): string[] {
  const { name, desired, observed, restore, config, root, mounts } = record
  const wanted = desired.power === 'running' ? 'running' : 'stopped'
  return [
    ...differ(`status of ${name}`, [observed.status, observed.generation], [wanted, desired.generation]),
    ...differ(`restore of ${name}`, restore === null ? [] : [restore.snapshot], []),
    ...(box === null
      ? []
      : [
          ...differ(`root of ${name}`, [box.spec.rootPath], [imaginedPath(root)]),
          ...differ(`limits of ${name}`, [box.limits.cpus, box.limits.ramMb], [config.cpus, config.ram_mb]),
          ...differ(
            `mounts of ${name}`,
            box.mounts.map(({ source, path, readOnly }) => `${source} ${path} ${readOnly}`),
            mounts.map(({ subvolume, path, readOnly }) => `${imaginedPath(subvolume)} ${path} ${readOnly}`),
          ),
        ]),
  ]
}

function instancesOf({ active, preview, previous, next, retired }: ServiceRecord) {
  return [active, preview, previous, next, ...retired].filter((each) => each !== null)
}

// Any other part of a service is transitional, and must go.
function differencesOfService(record: ServiceRecord, boxes: readonly BoxRecord[]): string[] {
  const { boxId, name, desired, active, preview, next, retired } = record
  const box = boxes.find(({ id }) => id === boxId)
  const isWanted = desired === 'running' && box !== undefined && isRunning(box)
  return [
    ...differ(`run of ${name}`, [active?.runs.at(-1)?.end === null], [isWanted]),
    ...differ(
      `failure of ${name}`,
      [preview?.failure?.why, next?.failure?.why].flatMap((why) => why ?? []),
      [],
    ),
    ...(preview === null ? [] : differ(`preview of ${name}`, [preview.runs.at(-1)?.end === null], [isWanted])),
    ...differ(`versions of ${name} to come`, next === null ? [] : ['next'], []),
    ...differ(
      `versions of ${name} that are over`,
      retired.map(() => 'retired'),
      [],
    ),
  ]
}

function differencesOfCommands(services: readonly ServiceRecord[], world: ImaginedWorld, leaves: boolean): string[] {
  const runs = services.flatMap((service) =>
    instancesOf(service).flatMap(({ fork, runs: all }) =>
      all.map((run) => ({ ...run, host: fork?.boxId ?? service.boxId })),
    ),
  )
  const keyOf = ({ execId, host }: (typeof runs)[number]): string => `${host}/${execId}`
  const kept = new Set(runs.map(keyOf))
  const living = runs.filter(({ end }) => end === null)
  const commands = [...world.commands]
  return [
    ...differ(
      'commands',
      commands.filter(([, { end }]) => end === null).map(([id]) => id),
      living.map(({ execId }) => execId),
    ),
    ...(leaves
      ? []
      : differ(
          'commands that nobody forgets',
          commands.filter(([, { end }]) => end !== null).map(([id]) => id),
          [],
        )),
    ...differ(
      'output that no run has',
      [...world.outputs].filter((key) => !kept.has(key)),
      [],
    ),
    ...differ(
      'runs without output',
      living.map(keyOf).filter((key) => !world.outputs.has(key)),
      [],
    ),
  ]
}

function routesOf(boxes: readonly BoxRecord[], services: readonly ServiceRecord[], world: ImaginedWorld): string[] {
  const route = (box: BoxRecord, host: string, at: { boxId: string; port: number | null } | null): string[] => {
    const target = at === null ? undefined : world.boxes.get(at.boxId)
    if (target === undefined || at?.port === null || at?.port === undefined) return []
    return [[host, box.project, box.id, box.urlSettings.auth, imaginedAddress(target), at.port].join(' ')]
  }
  return boxes.filter(isRunning).flatMap((box) => {
    const own = services.filter(({ boxId }) => boxId === box.id)
    const requested = box.port ?? 8080
    const serving = own.find(({ active, spec }) => (active?.spec ?? spec).port === requested)
    const port = serving === undefined ? requested : (serving.active?.port ?? serving.spec.port)
    return [
      ...[hostOfBox(box, AT_EDGE), ...box.domains].flatMap((host) => route(box, host, { boxId: box.id, port })),
      ...own.flatMap(({ name, active, spec, preview, domains }) => [
        ...[hostOfService(box, name, AT_EDGE), ...domains].flatMap((host) =>
          route(box, host, { boxId: box.id, port: active === null ? spec.port : active.port }),
        ),
        ...route(
          box,
          hostOfPreview(box, name, AT_EDGE),
          preview && { boxId: preview.fork?.boxId ?? box.id, port: preview.port },
        ),
      ]),
    ]
  })
}

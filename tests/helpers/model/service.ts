import assert from 'node:assert/strict'
import { limitsInForce, listSubvolumes, mountsOf, readWorld } from '../boxes/world.ts'
import { untilSucceeds } from '../eventually.ts'
import type { Answer, Client } from '../front/client.ts'
import { runtimeOfTests } from '../pods/cluster-of-tests.ts'
import type { TestService } from '../service.ts'
import { isOfBackups } from './backup-operations.ts'
import {
  type BackupSite,
  compareBackups,
  compareStore,
  copiesOf,
  SUCCESSES as OF_BACKUPS,
  sendOfBackups,
} from './backup-service.ts'
import type { Prediction } from './model.ts'
import { FILE_PATHS, type ModelOperation } from './operations.ts'
import { attachmentsOf, readFile } from './places.ts'
import { expectedContents, readPool } from './pool.ts'
import type { SnapshotOperation } from './snapshot-operations.ts'
import type { History, Model, ModelBox, Mount } from './state.ts'

/** One project of a real service. A test runs operations of the model on it, and compares the two. */
export interface ModelledService {
  /** Sends an operation. Resolves with null for a success, or else with the error code. `waitSeconds` limits the wait for a busy volume. */
  send(operation: ModelOperation, waitSeconds?: number): Promise<string | null>
  /** Throws unless boxes, volumes, limits and the contents of all snapshots match the model. Does not wait. */
  compare(model: Model): Promise<void>
  /** Throws unless files, variables and processes in the running boxes of `names` match the model. */
  compareInside(model: Model, names: readonly string[]): Promise<void>
  /** Throws unless this host matches the model. Does not use the API. */
  compareWorld(model: Model): Promise<void>
}

/** Returns a driver for `project`, which must have no other user. */
export function modelService(service: TestService, client: Client, project: string): ModelledService {
  const at: Site = { service, client, project, path: `/v1/projects/${project}`, ids: new Map() }
  return {
    send: async (operation, waitSeconds = 25) => codeOf(operation, await send(at, operation, waitSeconds)),
    compare: (model) => compare(at, model),
    compareInside: async (model, names) => {
      await Promise.all([...new Set(names)].map((name) => compareFiles(at, model, name)))
    },
    compareWorld: (model) => compareWorld(at, model),
  }
}

/** Returns true if the API may answer `code` where `prediction` is expected. */
export function isPredicted(prediction: Prediction, code: string | null): boolean {
  return code === null ? prediction.length === 0 : prediction.includes(code)
}

interface Site extends BackupSite {
  project: string
}

function send(site: Site, operation: ModelOperation, waitSeconds: number): Promise<Answer> {
  const { client, project, path } = site
  const wait = `?wait_seconds=${waitSeconds}`
  if (isOfBackups(operation)) return sendOfBackups(site, operation, wait)
  switch (operation.kind) {
    case 'createBox': {
      const { kind: _kind, mounts, ...body } = operation
      return client.post(`${path}/boxes`, { ...body, data_mounts: mounts })
    }
    case 'createVolume': {
      const { kind: _kind, ...body } = operation
      return client.post(`${path}/data`, body)
    }
    case 'stop':
    case 'resume':
      return client.post(`${path}/boxes/${operation.box}/${operation.kind}`)
    case 'deleteBox':
      return client.delete(`${path}/boxes/${operation.box}`)
    case 'updateBox':
      return client.put(`${path}/boxes/${operation.box}`, operation.body)
    case 'updateVolume':
      return client.put(`${path}/data/${operation.volume}`, operation.body)
    case 'deleteVolume':
      return client.delete(`${path}/data/${operation.volume}`)
    case 'attach': {
      const { kind: _kind, volume, ...body } = operation
      return client.post(`${path}/data/${volume}/attach${wait}`, body)
    }
    case 'detach':
      return client.post(`${path}/data/${operation.volume}/detach${wait}`, { box: operation.box })
    case 'write': {
      const directory = operation.path.slice(0, operation.path.lastIndexOf('/'))
      return client.shell(
        project,
        operation.box,
        `mkdir -p ${directory} && echo ${operation.token} > ${operation.path}`,
      )
    }
    case 'sit':
      return client.shell(project, operation.box, `cd ${operation.path} && { ${SIT} echo $! > /root/sitter; }`)
    case 'leave':
      return client.shell(project, operation.box, LEAVE)
    case 'takeBox':
    case 'takeVolume':
    case 'restoreBox':
    case 'restoreVolume':
    case 'dropBoxSnapshot':
    case 'dropVolumeSnapshot':
      return sendOfSnapshots(client, path, { operation, wait })
  }
}

function sendOfSnapshots(
  client: Client,
  path: string,
  { operation, wait }: { operation: SnapshotOperation; wait: string },
): Promise<Answer> {
  switch (operation.kind) {
    case 'takeBox': {
      const { kind: _kind, box, ...body } = operation
      return client.post(`${path}/boxes/${box}/snapshots`, body)
    }
    case 'takeVolume': {
      const { kind: _kind, volume, ...body } = operation
      return client.post(`${path}/data/${volume}/snapshots`, body)
    }
    case 'restoreBox': {
      const { kind: _kind, box, ...body } = operation
      return client.post(`${path}/boxes/${box}/restore`, body)
    }
    case 'restoreVolume':
      return client.post(`${path}/data/${operation.volume}/restore${wait}`, { snapshot: operation.snapshot })
    case 'dropBoxSnapshot':
      return client.delete(`${path}/boxes/${operation.box}/snapshots/${operation.snapshot}`)
    case 'dropVolumeSnapshot':
      return client.delete(`${path}/data/${operation.volume}/snapshots/${operation.snapshot}`)
  }
}

function codeOf({ kind }: ModelOperation, { status, body, text }: Answer): string | null {
  const success = SUCCESSES[kind] ?? 200
  if (status === success) return body?.exit_code ? 'command_failed' : null
  assert.equal(body?.status, status, `not an answer to ${kind}: ${status} ${text}`)
  return body.code
}

async function compare(site: Site, model: Model): Promise<void> {
  const { service, client, path } = site
  const [{ body: boxes }, { body: volumes }] = await Promise.all([
    client.get(`${path}/boxes`),
    client.get(`${path}/data`),
  ])
  const expected = [...model.boxes].map(([name, box]) => ({ name, ...shownBox(box) })).sort(byName)
  expectSame(boxes.boxes.map(seenBox), expected)
  await compareBackups(site, model)
  expectSame(volumes.volumes.map(seenVolume), shownVolumes(model, site))
  const pool = readPool(service)
  expectSame(pool.contents, expectedContents(model), 'contents')
  await Promise.all([
    ...boxes.boxes.map((box: Answer['body']) => compareBox(site, box, pool.volumes)),
    ...volumes.volumes.map(async (volume: Answer['body']) => {
      expectSame(seenVolume((await client.get(`${path}/data/${volume.name}`)).body), seenVolume(volume))
    }),
    ...[...model.boxes].map(([name, { history }]) => compareHistory(client, `${path}/boxes/${name}`, history)),
    ...[...model.volumes].map(([name, { history }]) => compareHistory(client, `${path}/data/${name}`, history)),
  ])
}

async function compareBox(
  { service, client, path }: Site,
  box: Answer['body'],
  subvolumes: ReadonlyMap<string, string>,
): Promise<void> {
  const { id, name, status, config } = box
  const read = (await client.get(`${path}/boxes/${name}`)).body
  expectSame(seenBox(read), seenBox(box))
  if (status !== 'running') return
  const limits = { cpus: config.cpus, ramMb: config.ram_mb }
  // The kubelet can write the old limits once more before the new ones.
  const patienceMs = runtimeOfTests() === 'kubernetes' ? 60_000 : 0
  await untilSucceeds(async () => expectSame(limitsInForce(service, id), limits, `limits of ${name}`), patienceMs)
  const mounts = read.data_mounts.map(({ name: volume, path, read_only: readOnly }: Mount) => {
    return { volume: subvolumes.get(volume), path, readOnly }
  })
  expectSame(mountsOf(service, id), mounts.sort(byPath), `mounts of ${name}`)
}

async function compareHistory(client: Client, owner: string, { snapshots }: History): Promise<void> {
  const { body } = await client.get(`${owner}/snapshots?max_results=1000`)
  const seen: Snapshot[] = body.snapshots.map(({ name, automatic, data }: Snapshot) => ({ name, automatic, data }))
  const expected = [...snapshots].map(([name, { automatic, data }]) => {
    return { name, automatic, data: data.map(({ name, path, read_only }) => ({ name, path, read_only })) }
  })
  expectSame(sorted(seen), sorted(expected), `snapshots of ${owner}`)
}

function sorted(snapshots: readonly Snapshot[]): Snapshot[] {
  return snapshots.map((each) => ({ ...each, data: each.data.toSorted(byName) })).sort(byName)
}

type Snapshot = { name: string; automatic: boolean; data: Mount[] }

function shownBox({ status, base, forkOf, config, environment, tags, mounts }: ModelBox) {
  return { status, base, fork_of: forkOf, config, environment, tags, data_mounts: mounts }
}

function seenBox(body: Answer['body']) {
  const { name, status, base, fork_of, config, environment, tags, data_mounts } = body
  const { cpus, ram_mb, storage_gb } = config
  const amounts = { cpus, ram_mb, storage_gb }
  return { name, status, base, fork_of, config: amounts, environment, tags, data_mounts }
}

function shownVolumes(model: Model, { ids }: Site) {
  const volumes = [...model.volumes].map(([name, { sizeGb, tags, from: origin }]) => {
    const [, backup] = origin?.split('#') ?? []
    const from = backup === undefined ? origin : `backup:${ids.get(Number(backup))}`
    return { name, size_gb: sizeGb, tags, from, attachments: attachmentsOf(model, name) }
  })
  return volumes.sort(byName)
}

function seenVolume({ name, size_gb, tags, from, attachments }: Answer['body']) {
  return { name, size_gb, tags, from, attachments }
}

async function compareFiles({ client, project }: Site, model: Model, name: string): Promise<void> {
  const box = model.boxes.get(name)
  if (box?.status !== 'running') return
  const { body, text } = await client.shell(project, name, READ_ALL)
  assert.equal(body.exit_code, 0, `reading files of ${name}: ${text}`)
  const files = FILE_PATHS.map((path) => `${path} ${readFile(model, box, path) ?? '-'}\n`).join('')
  const seat = box.mounts.find((mount) => box.sitsIn.includes(mount.name))?.path ?? '-'
  assert.equal(body.stdout, `${files}${box.environment['MODEL'] ?? '-'}\n${seat}\n`, `files of ${name}`)
}

async function compareWorld(site: Site, model: Model): Promise<void> {
  const { service, client, path } = site
  await untilSucceeds(async () => {
    const { body: boxes } = await client.get(`${path}/boxes`)
    await compare(site, model)
    const ids = idsOf(boxes.boxes.filter(({ status }: { status: string }) => status === 'running'))
    const { running, states } = readWorld(service)
    expectSame({ running, states }, { running: ids, states: ids })
    // Counts duplicates. A subvolume that two records name exists only once.
    expectSame(listSubvolumes(service), [...readPool(service).subvolumes, ...copiesOf(service)].sort(), 'subvolumes')
    compareStore(site, model)
  })
}

function idsOf(resources: { id: string }[]): string[] {
  return resources.map(({ id }) => id).sort()
}

// In jest, structuredClone copies into another realm. deepEqual rejects objects from there.
function expectSame(seen: unknown, expected: unknown, what = ''): void {
  const { seen: left, expected: right } = JSON.parse(
    JSON.stringify({ seen: { [what]: seen }, expected: { [what]: expected } }),
  )
  assert.deepEqual(left, right)
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}

const SIT = 'sleep 100000 >/dev/null 2>&1 </dev/null &'
const LEAVE = 'kill $(cat /root/sitter); while kill -0 $(cat /root/sitter) 2>/dev/null; do sleep 0.01; done'
const READ_ALL = `
  for path in ${FILE_PATHS.join(' ')}; do
    line=-
    { read -r line < $path; } 2>/dev/null
    echo $path $line
  done
  echo \${MODEL:--}
  read -r sitter 2>/dev/null < /root/sitter
  seat=$(readlink /proc/\${sitter:-none}/cwd)
  case $seat in /mnt/*|/srv/*) echo $seat;; *) echo -;; esac`

const SUCCESSES: Partial<Record<ModelOperation['kind'], number>> = {
  ...{ createBox: 201, createVolume: 201, takeBox: 201, takeVolume: 201 },
  ...OF_BACKUPS,
  ...{ deleteBox: 204, deleteVolume: 204, dropBoxSnapshot: 204, dropVolumeSnapshot: 204 },
}

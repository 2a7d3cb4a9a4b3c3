import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Client } from './client.ts'
import { attachmentsOf, type Prediction, readFile } from './model.ts'
import { FILE_PATHS, type Operation } from './model-operations.ts'
import type { Model, ModelBox, Mount } from './model-state.ts'
import type { TestService } from './service.ts'
import { limitsOf, mountsOf, readWorld } from './world.ts'

/** One project of a real service, driven and compared as the model says. */
export interface ModelledService {
  /** What the API says: null is a success, else the code. A volume that should be busy is not waited for long. */
  send(operation: Operation, waitSeconds?: number): Promise<string | null>
  /** Throws unless boxes, volumes and limits are as in the model, at once. */
  compare(model: Model): Promise<void>
  /** Throws unless the files and variables in the running boxes of `names` are as in the model. */
  compareInside(model: Model, names: readonly string[]): Promise<void>
  /** Throws unless this host holds what the model says, past the API. */
  compareWorld(model: Model): Promise<void>
}

/** Drives `project`, which nothing else uses. */
export function modelService(service: TestService, client: Client, project: string): ModelledService {
  const at: Site = { service, client, project, path: `/v1/projects/${project}` }
  return {
    send: async (operation, waitSeconds = 10) => toldBy(operation, await send(at, operation, waitSeconds)),
    compare: (model) => compare(at, model),
    compareInside: async (model, names) => {
      for (const name of names) await compareFiles(at, model, name)
    },
    compareWorld: (model) => compareWorld(at, model),
  }
}

/** Whether the API may answer `told` where `prediction` is expected. */
export function isPredicted(prediction: Prediction, told: string | null): boolean {
  return told === null ? prediction.length === 0 : prediction.includes(told)
}

/** Repeats `work` until it does not throw any more; what it throws in the end, after `patienceMs`. */
export async function eventually<T>(work: () => Promise<T>, patienceMs = 10_000): Promise<T> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(50)
    }
  }
}

interface Site {
  service: TestService
  client: Client
  project: string
  path: string
}

function send({ client, project, path }: Site, operation: Operation, waitSeconds: number): Promise<Answer> {
  const wait = `?wait_seconds=${waitSeconds}`
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
  }
}

function toldBy({ kind }: Operation, { status, body, text }: Answer): string | null {
  const success = { createBox: 201, createVolume: 201, deleteBox: 204, deleteVolume: 204 }[kind as 'createBox'] ?? 200
  if (status === success) return body?.exit_code ? 'command_failed' : null
  assert.equal(body?.status, status, `not an answer to ${kind}: ${status} ${text}`)
  return body.code
}

async function compare({ service, client, path }: Site, model: Model): Promise<void> {
  const { body: boxes } = await client.get(`${path}/boxes`)
  const { body: volumes } = await client.get(`${path}/data`)
  const expected = [...model.boxes].map(([name, box]) => ({ name, ...shownBox(box) })).sort(byName)
  expectSame(boxes.boxes.map(seenBox), expected)
  expectSame(volumes.volumes.map(seenVolume), shownVolumes(model))
  const idByName = new Map(volumes.volumes.map(({ id, name }: { id: string; name: string }) => [name, id]))
  for (const { id, name, status, config } of boxes.boxes) {
    const read = (await client.get(`${path}/boxes/${name}`)).body
    expectSame(seenBox(read), seenBox(boxes.boxes.find((each: { id: string }) => each.id === id)))
    if (status !== 'running') continue
    expectSame(limitsOf(service, id), { cpus: config.cpus, ramMb: config.ram_mb }, `limits of ${name}`)
    const mounts = read.data_mounts.map(({ name: volume, path, read_only: readOnly }: Mount) => {
      return { volume: idByName.get(volume), path, readOnly }
    })
    expectSame(mountsOf(service, id), mounts.sort(byPath), `mounts of ${name}`)
  }
  for (const volume of volumes.volumes) {
    expectSame(seenVolume((await client.get(`${path}/data/${volume.name}`)).body), seenVolume(volume))
  }
}

function shownBox({ status, base, forkOf, config, environment, tags, mounts }: ModelBox) {
  return { status, base, fork_of: forkOf, config, environment, tags, data_mounts: mounts }
}

function seenBox(body: Answer['body']) {
  const { name, status, base, fork_of, config, environment, tags, data_mounts } = body
  const { region: _region, ...amounts } = config
  return { name, status, base, fork_of, config: amounts, environment, tags, data_mounts }
}

function shownVolumes(model: Model) {
  const volumes = [...model.volumes].map(([name, { sizeGb, tags }]) => {
    return { name, size_gb: sizeGb, tags, attachments: attachmentsOf(model, name) }
  })
  return volumes.sort(byName)
}

function seenVolume({ name, size_gb, tags, attachments }: Answer['body']) {
  return { name, size_gb, tags, attachments }
}

async function compareFiles({ client, project }: Site, model: Model, name: string): Promise<void> {
  const box = model.boxes.get(name)
  if (box?.status !== 'running') return
  const { body, text } = await client.shell(project, name, READ_ALL)
  assert.equal(body.exit_code, 0, `reading files of ${name}: ${text}`)
  const files = FILE_PATHS.map((path) => `${path} ${readFile(model, box, path) ?? '-'}\n`).join('')
  assert.equal(body.stdout, `${files}${box.environment['MODEL'] ?? '-'}\n`, `files of ${name}`)
}

async function compareWorld(site: Site, model: Model): Promise<void> {
  const { service, client, path } = site
  await eventually(async () => {
    const { body: boxes } = await client.get(`${path}/boxes`)
    const { body: volumes } = await client.get(`${path}/data`)
    await compare(site, model)
    const running = idsOf(boxes.boxes.filter(({ status }: { status: string }) => status === 'running'))
    const expected = { running, states: running, roots: idsOf(boxes.boxes), volumes: idsOf(volumes.volumes) }
    expectSame(readWorld(service), expected)
  })
}

function idsOf(resources: { id: string }[]): string[] {
  return resources.map(({ id }) => id).sort()
}

// A copy by structuredClone is of another realm in jest, which no comparison of objects takes for equal.
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
  echo \${MODEL:--}`

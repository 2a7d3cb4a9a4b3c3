import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestService } from './service.ts'

/** What this host really holds of a service, read past the service itself. */
export interface World {
  /** Ids of boxes with a cgroup that has processes. */
  running: string[]
  /** Ids the runtime keeps state of. */
  states: string[]
  /** Roots of boxes in the pool. */
  roots: string[]
  /** Data volumes in the pool. */
  volumes: string[]
}

/** Reads cgroups, runtime state and pool; the pool is looked at through the agent's own mount namespace. */
export function readWorld(service: TestService): World {
  const instance = instanceOf(service)
  const runDir = join('/run/boxyard', instance)
  const pool = join(`/proc/${service.agentPid}/root`, runDir, 'pool')
  return {
    running: inhabitedCgroups(instance),
    states: list(join(runDir, 'boxes'))
      .map((name) => name.replace(/\.json$/, ''))
      .filter(isBox)
      .sort(),
    roots: list(pool)
      .filter((name) => name.startsWith('sub_'))
      .map((name) => name.slice(4))
      .sort(),
    volumes: list(pool)
      .filter((name) => name.startsWith('vol_'))
      .sort(),
  }
}

/** A data volume as the processes of a box see it. */
export interface SeenMount {
  volume: string
  path: string
  readOnly: boolean
}

/** The data volumes in the mount namespace of a box, by their paths. */
export function mountsOf(service: TestService, boxId: string): SeenMount[] {
  // Its other processes may have lower numbers, and are not all in its namespaces yet.
  return readText(`/proc/${initOf(service, boxId)}/mountinfo`)
    .split('\n')
    .flatMap((line) => {
      const [, , , root = '', path = '', options = ''] = line.split(' ')
      return root.startsWith('/vol_') ? [{ volume: root.slice(1), path, readOnly: /^ro\b/.test(options) }] : []
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** What the kernel grants a box: memory in MiB, processors in cores. */
export function limitsOf(service: TestService, boxId: string): { ramMb: number; cpus: number } {
  const instance = instanceOf(service)
  const read = (file: string): string =>
    cgroupPaths(instance)
      .map((path) => readText(join(path, boxId, file)).trim())
      .find((text) => text !== '') ?? ''
  const [quota, period] = read('cpu.max') === '' ? [read('cpu.cfs_quota_us'), '100000'] : read('cpu.max').split(' ')
  const bytes = Number(read('memory.limit_in_bytes') || read('memory.max'))
  return { ramMb: bytes / 1024 ** 2, cpus: Number(quota) / Number(period) }
}

/** Lets all that a stopped agent wrote down be of the boot before this one, as after a reboot. */
export function ageByOneBoot(service: TestService): void {
  const instance = instanceOf(service)
  const notes = join('/run/boxyard', instance, 'boxes')
  for (const name of list(notes)) {
    const path = join(notes, name)
    writeFileSync(path, readText(path).replace(/"bootId":"[^"]*"/, '"bootId":"before"'))
  }
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'))
  database.exec(`UPDATE boxes SET record = json_set(record, '$.observed.bootId', 'before')
    WHERE json_extract(record, '$.observed.bootId') IS NOT NULL`)
  database.close()
}

/** The mark of everything of a service on this host. */
export function instanceOf(service: TestService): string {
  return readFileSync(join(service.dataDir, 'instance'), 'utf8').trim()
}

/** The pids of a box on the host. */
export function pidsOf(service: TestService, boxId: string): number[] {
  const instance = instanceOf(service)
  const found = cgroupPaths(instance).flatMap((path) => tree(join(path, boxId)))
  return [...new Set(found)].sort((a, b) => a - b)
}

function initOf(service: TestService, boxId: string): number | null {
  const instance = instanceOf(service)
  const note = readText(join('/run/boxyard', instance, 'boxes', `${boxId}.json`))
  return note === '' ? null : (JSON.parse(note) as { pid: number }).pid
}

function inhabitedCgroups(instance: string): string[] {
  const ids = cgroupPaths(instance).flatMap((path) =>
    list(path).filter((id) => isBox(id) && tree(join(path, id)).length > 0),
  )
  return [...new Set(ids)].sort()
}

function cgroupPaths(instance: string): string[] {
  const root = '/sys/fs/cgroup'
  const candidates = [
    join(root, 'boxyard', instance),
    ...list(root).map((name) => join(root, name, 'boxyard', instance)),
  ]
  return candidates.filter((path) => existsSync(path))
}

function tree(path: string): number[] {
  const own = readText(join(path, 'cgroup.procs')).split('\n').filter(Boolean).map(Number)
  const below = list(path).filter((name) => existsSync(join(path, name, 'cgroup.procs')))
  return [...own, ...below.flatMap((name) => tree(join(path, name)))]
}

/** What vanishes while it is read holds nothing. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function isBox(name: string): boolean {
  return /^box_[0-9a-z]{26}$/.test(name)
}

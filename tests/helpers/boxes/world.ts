import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestService } from '../service.ts'

/** The state of a service on this host, read without asking the service. */
export interface BoxesOnHost {
  /** Ids of boxes whose cgroup has processes. */
  running: string[]
  /** Ids of boxes with runtime state. */
  states: string[]
  /** Ids of boxes with a root in the pool. */
  roots: string[]
  /** Data volumes in the pool. */
  volumes: string[]
}

/** Reads cgroups, runtime state and the pool. Reads the pool through the agent's mount namespace. */
export function readWorld(service: TestService): BoxesOnHost {
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

/** Lists the bases in the pool, complete or not. */
export function basesOf(service: TestService): string[] {
  const pool = join(`/proc/${service.agentPid}/root/run/boxyard`, instanceOf(service), 'pool')
  return list(pool)
    .filter((name) => /^(bas|tmp)_/.test(name))
    .sort()
}

/** Lists the other subvolumes of the pool, which are roots, volumes and snapshots. */
export function listSubvolumes(service: TestService): string[] {
  const pool = join(`/proc/${service.agentPid}/root/run/boxyard`, instanceOf(service), 'pool')
  return list(pool)
    .filter((name) => /^(sub|vol|snp|tmp)_/.test(name))
    .sort()
}

/** A data volume as mounted in a box. */
export interface SeenMount {
  volume: string
  path: string
  readOnly: boolean
}

/** Returns the data volumes in the mount namespace of a box, sorted by path. */
export function mountsOf(service: TestService, boxId: string): SeenMount[] {
  // Reads the mounts of init. Other processes can have lower pids, and some have not entered all namespaces yet.
  return readText(`/proc/${initOf(service, boxId)}/mountinfo`)
    .split('\n')
    .flatMap((line) => {
      const [, , , root = '', path = '', options = ''] = line.split(' ')
      return root.startsWith('/vol_') ? [{ volume: root.slice(1), path, readOnly: /^ro\b/.test(options) }] : []
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Reads a box's limits from the kernel, with memory in MiB and CPU in cores. */
export function limitsInForce(service: TestService, boxId: string): { ramMb: number; cpus: number } {
  const read = (file: string): string =>
    boxCgroups(instanceOf(service), boxId)
      .map((path) => readText(join(path, file)).trim())
      .find((text) => text !== '') ?? ''
  const [quota, period] = read('cpu.max') === '' ? [read('cpu.cfs_quota_us'), '100000'] : read('cpu.max').split(' ')
  const bytes = Number(read('memory.limit_in_bytes') || read('memory.max'))
  return { ramMb: bytes / 1024 ** 2, cpus: Number(quota) / Number(period) }
}

/** Sets the boot id in a stopped agent's state to an earlier boot, as after a reboot. */
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

/** Returns the instance id, which marks everything of a service on this host. */
export function instanceOf(service: TestService): string {
  return readFileSync(join(service.dataDir, 'instance'), 'utf8').trim()
}

/** Returns the host pids of a box. */
export function pidsOf(service: TestService, boxId: string): number[] {
  const found = boxCgroups(instanceOf(service), boxId).flatMap(tree)
  return [...new Set(found)].sort((a, b) => a - b)
}

function initOf(service: TestService, boxId: string): number | null {
  return readNote(instanceOf(service), boxId)?.pid ?? null
}

function readNote(instance: string, boxId: string): { pid: number; cgroup: string | null } | null {
  const note = readText(join('/run/boxyard', instance, 'boxes', `${boxId}.json`))
  return note === '' ? null : (JSON.parse(note) as { pid: number; cgroup: string | null })
}

function inhabitedCgroups(instance: string): string[] {
  const own = hierarchies().flatMap((path) => list(join(path, 'boxyard', instance)))
  const noted = list(join('/run/boxyard', instance, 'boxes')).map((name) => name.replace(/\.json$/, ''))
  const isInhabited = (id: string): boolean => boxCgroups(instance, id).some((path) => tree(path).length > 0)
  return [...new Set([...own, ...noted])].filter((id) => isBox(id) && isInhabited(id)).sort()
}

// For a pod's box, the kubelet chooses the path. The box's note records it.
function boxCgroups(instance: string, boxId: string): string[] {
  const below = readNote(instance, boxId)?.cgroup ?? join('boxyard', instance, boxId)
  return hierarchies().map((path) => join(path, below))
}

function hierarchies(): string[] {
  const root = '/sys/fs/cgroup'
  return [root, ...list(root).map((name) => join(root, name))]
}

function tree(path: string): number[] {
  const own = readText(join(path, 'cgroup.procs')).split('\n').filter(Boolean).map(Number)
  const below = list(path).filter((name) => existsSync(join(path, name, 'cgroup.procs')))
  return [...own, ...below.flatMap((name) => tree(join(path, name)))]
}

/** Returns '' if the file vanishes while it is read. */
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

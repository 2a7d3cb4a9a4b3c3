import fs from 'node:fs'
import { readTextIfThere } from '../../../lib/disk/file-text.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { cgroupsBelow, isOfCommand } from './delegation.ts'
import { type CgroupLayout, rootsOf } from './layout.ts'

/** The directories of the cgroups of boxes and their commands. */
export interface CgroupPaths {
  /** Sets the path of a box's cgroups below each hierarchy, created by another runtime. Null restores the agent's own. */
  place(boxId: string, path: string | null): void
  /** Returns true if `place` has set the path. */
  isPlaced(boxId: string): boolean
  /** Returns the directory of a box in the hierarchy mounted at `root`. */
  home(root: string, boxId: string): string
  /** Returns the directory of a box in the hierarchy that has a cgroup for each command. */
  main(boxId: string): string
  execHome(boxId: string, exec: string): string
  execs(boxId: string): string[]
  execHomes(boxId: string): string[]
  /** Lists the cgroups below a box's in that hierarchy, including the ones that the box made, children before their parents. */
  below(boxId: string): string[]
  /** Lists the host process ids of the box, including its commands. */
  processes(boxId: string): number[]
  /** Lists the ids of boxes that have a cgroup in any hierarchy. */
  list(): string[]
  /** Removes the directories of the instance if no box has one. */
  close(): void
}

/**
 * Finds the cgroups of an instance's boxes at `<base>/boxyard/<instance>/<box>` of every hierarchy. A box that already runs below the
 * root of the hierarchy, where agents without a unit of the boxes put it, keeps its cgroups there.
 */
export function createCgroupPaths(layout: CgroupLayout, instanceId: string, base: string): CgroupPaths {
  const roots = rootsOf(layout)
  const places = new Map<string, string>()
  const bases = [...new Set([base, ''])]
  const all = (parent: string): string[] =>
    roots.flatMap((root) => childDirectories(`${root}${parent}/boxyard/${instanceId}`))
  const rooted = new Set(base === '' ? [] : all(''))
  const home = (root: string, boxId: string): string => {
    const path = places.get(boxId) ?? `boxyard/${instanceId}/${boxId}`
    const isRooted = places.has(boxId) || (rooted.has(boxId) && fs.existsSync(`${root}/${path}`))
    return `${root}${isRooted ? '' : base}/${path}`
  }
  const isV1 = layout.version === 1
  const main = (boxId: string): string => home(layout.execs, boxId)
  const execHome = (boxId: string, exec: string): string => `${main(boxId)}/${exec}`
  const execs = (boxId: string): string[] =>
    childDirectories(main(boxId)).filter((name) => isV1 || isOfCommand(execHome(boxId, name)))
  const execHomes = (boxId: string): string[] => execs(boxId).map((exec) => execHome(boxId, exec))
  const below = (boxId: string): string[] => (isV1 ? execHomes(boxId) : cgroupsBelow(main(boxId)))
  return {
    place: (boxId, path) => void (path === null ? places.delete(boxId) : places.set(boxId, path)),
    isPlaced: (boxId) => places.has(boxId),
    home,
    main,
    execHome,
    execs,
    execHomes,
    below,
    processes: (boxId) => [home(layout.pids, boxId), ...(isV1 ? [] : below(boxId))].flatMap(readProcesses),
    list: () => [...new Set(bases.flatMap(all))],
    close: () => {
      for (const parent of roots.flatMap((root) => bases.map((each) => `${root}${each}/boxyard`)))
        if (removeDirectory(`${parent}/${instanceId}`)) removeDirectory(parent)
    },
  }
}

/**
 * Lists the host process ids in a cgroup, or none if it is absent. Returns none for a threaded cgroup, such as a box with nesting can make.
 * The kernel lists its processes in the next cgroup above that is not threaded.
 */
export function readProcesses(path: string): number[] {
  try {
    return readTextIfThere(`${path}/cgroup.procs`).split('\n').filter(Boolean).map(Number)
  } catch (error) {
    if (isErrno(error, 'ENOTSUP')) return []
    throw error
  }
}

/** Moves processes into a cgroup. Calls `list` twice, to include processes that start during the first round. */
export function moveInto(path: string, list: () => number[]): void {
  for (let round = 0; round < 2; round++) for (const pid of list()) join(pid, path)
}

function join(pid: number, path: string): void {
  try {
    fs.writeFileSync(`${path}/cgroup.procs`, String(pid))
  } catch (error) {
    // The process has ended.
    if (!isErrno(error, 'ESRCH')) throw error
  }
}

/** Removes an empty cgroup. Returns false if it is in use. An absent one is a success. */
export function removeDirectory(path: string): boolean {
  try {
    fs.rmdirSync(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true
    if (isErrno(error, 'EBUSY')) return false
    throw error
  }
}

function childDirectories(path: string): string[] {
  try {
    return fs
      .readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

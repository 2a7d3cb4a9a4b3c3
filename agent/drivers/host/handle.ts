import fs from 'node:fs'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { readBootId } from './facts.ts'

/** Details of a running box that the next agent needs. The agent writes them once the box runs. */
export interface BoxHandle {
  /** Boot in which the box started. In any other boot the box is not running. */
  bootId: string
  /** Host pid of init, with its start time in clock ticks since boot. */
  pid: number
  startTicks: number
  /** Slot of the embedded network, or 0 with other networks. */
  slotIndex: number
  /** Host id that the box's id 0 maps to. */
  idBase: number
  project: string
  name: string
  rootPath: string
  /** Path of its cgroups below the mount point of each hierarchy, or null if this instance created them. */
  cgroup: string | null
  /** crun's status file of the container. */
  crunStatus: string
  /** True if the box started with nesting. Absent in handles of earlier versions, which had none. */
  nesting?: boolean
}

/** The handles of running boxes on disk. They are the only files of a box in the run directory that outlive the agent. */
export interface BoxHandles {
  /** Writes the handle of a box. Fails if it has one, even an unreadable one. Remove that first, as every start does. */
  write(boxId: string, handle: BoxHandle): void
  /** Returns the handle of a box if its init runs in this boot, else null. */
  readRunning(boxId: string): BoxHandle | null
  /** Removes the handle of a box. An absent one is a success. */
  remove(boxId: string): void
  /** Lists the ids of boxes that have a handle. */
  list(): string[]
}

/** Opens the handles in `directory`, creating it. */
export function createBoxHandles(directory: string): BoxHandles {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const bootId = readBootId()
  const path = (boxId: string): string => `${directory}/${boxId}.json`
  return {
    // One write to a new file. After a crash it is empty, which reads as no handle. Replacing a file would make ext4 wait for the disk.
    write: (boxId, handle) => fs.writeFileSync(path(boxId), JSON.stringify(handle), { mode: 0o600, flag: 'wx' }),
    readRunning: (boxId) => {
      const handle = parseHandle(readTextIfThere(path(boxId)))
      if (handle === null || handle.bootId !== bootId) return null
      return readStartTicks(handle.pid) === handle.startTicks ? handle : null
    },
    remove: (boxId) => fs.rmSync(path(boxId), { force: true }),
    list: () => fs.readdirSync(directory).map((name) => name.replace(/\.json$/, '')),
  }
}

/** Returns the start time of a process in clock ticks since boot, or null if it is gone or a zombie. */
export function readStartTicks(pid: number): number | null {
  const text = readTextIfThere(`/proc/${pid}/stat`)
  const [state = 'X', ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return text === '' || 'ZX'.includes(state) ? null : Number(fields[START_FIELD])
}

/** Returns the pid of a process in its box's pid namespace, or null if it is gone. */
export function readInnerPid(pid: number): number | null {
  // The first number is the host's, the third and further ones are of namespaces nested in the box.
  const inner = /^NSpid:\t\d+\t(\d+)/m.exec(readTextIfThere(`/proc/${pid}/status`))?.[1]
  return inner === undefined ? null : Number(inner)
}

function parseHandle(text: string): BoxHandle | null {
  try {
    // Trusted, since only the agent writes there. A truncated handle is invalid JSON.
    return JSON.parse(text) as BoxHandle
  } catch {
    return null
  }
}

// Field 22 of /proc/<pid>/stat, counted from the one after the state (3).
const START_FIELD = 18

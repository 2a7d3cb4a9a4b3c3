import fs from 'node:fs'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { readBootId } from './facts.ts'

/** What the next agent needs to know of a box that runs; noted once it does. */
export interface BoxHandle {
  /** The boot it was started in: with another one nothing of the box runs any more. */
  bootId: string
  /** Init's process, and when it started, in clock ticks since boot. */
  pid: number
  startTicks: number
  /** Of the embedded network; 0 elsewhere. */
  slotIndex: number
  /** The host id of the box's id 0. */
  idBase: number
  project: string
  name: string
  rootPath: string
  /** Where its cgroups are, below the mount point of each hierarchy; null where this instance makes them. */
  cgroup: string | null
  /** What crun noted of the container. */
  crunStatus: string
}

/** The notes of running boxes: the only files of a box that outlive the agent. */
export interface BoxHandles {
  /** Notes that the box runs; there is no note of it yet. */
  write(boxId: string, handle: BoxHandle): void
  /** The note of a box whose init runs in this boot; null otherwise. */
  readRunning(boxId: string): BoxHandle | null
  /** An absent note is a success. */
  remove(boxId: string): void
  /** Ids of boxes that have a note. */
  list(): string[]
}

/** The notes in `directory`, which is made. */
export function createBoxHandles(directory: string): BoxHandles {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const bootId = readBootId()
  const path = (boxId: string): string => `${directory}/${boxId}.json`
  return {
    // One write to a new file: cut off it is empty, which reads as no note. Replacing a file makes ext4 wait for the disk.
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

/** When the process started, in clock ticks since boot; null if it is gone, or dead and not collected. */
export function readStartTicks(pid: number): number | null {
  const text = readTextIfThere(`/proc/${pid}/stat`)
  const [state = 'X', ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return text === '' || 'ZX'.includes(state) ? null : Number(fields[START_FIELD])
}

/** The number of a process in its own pid namespace; null if it is gone. */
export function readInnerPid(pid: number): number | null {
  const inner = /^NSpid:.*\t(\d+)$/m.exec(readTextIfThere(`/proc/${pid}/status`))?.[1]
  return inner === undefined ? null : Number(inner)
}

function parseHandle(text: string): BoxHandle | null {
  try {
    // Ours alone can write there; a note that was cut off is no JSON.
    return JSON.parse(text) as BoxHandle
  } catch {
    return null
  }
}

// Field 22 of /proc/<pid>/stat, counted from the one after the state (3).
const START_FIELD = 18

import fs from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readInnerPid } from '../host/handle.ts'

/** A process that uses a mounted tree. */
export interface TreeUser {
  /** Pid in the box. */
  pid: number
  /** Its `comm`, printable characters only. */
  name: string
}

/**
 * Returns the processes among `pids` that have a directory, program, file or mapping on the device number `device` (as in stat, which with
 * btrfs has one per subvolume). Stops at ten users and after 16,384 lookups. Yields to the event loop between lookups.
 */
export async function findTreeUsers(pids: readonly number[], device: number): Promise<TreeUser[]> {
  const users: TreeUser[] = []
  let lookups = 0
  for (const pid of pids) {
    for (const path of handlesOf(`/proc/${pid}`)) {
      if (++lookups > LOOKUPS_MAX) return users
      if (lookups % YIELD_EVERY === 0) await nextTurn()
      if (deviceOf(path) !== device) continue
      users.push({ pid: readInnerPid(pid) ?? 0, name: readName(pid) })
      break
    }
    if (users.length >= USERS_MAX) break
  }
  return users.filter(({ pid }) => pid !== 0)
}

function* handlesOf(home: string): Generator<string> {
  for (const name of ['cwd', 'root', 'exe']) yield `${home}/${name}`
  for (const directory of ['fd', 'map_files'])
    for (const name of namesIn(`${home}/${directory}`)) yield `${home}/${directory}/${name}`
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch (error) {
    if (isErrno(error, ...GONE)) return []
    throw error
  }
}

function deviceOf(path: string): number | null {
  try {
    return fs.statSync(path).dev
  } catch (error) {
    if (isErrno(error, ...GONE)) return null
    throw error
  }
}

function readName(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').replaceAll(/[^\x20-\x7e]/g, '')
  } catch (error) {
    if (isErrno(error, ...GONE)) return ''
    throw error
  }
}

// The process has ended by now, or has no such entry (a kernel thread has no program).
const GONE = ['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENXIO', 'ESTALE']
const USERS_MAX = 10
const LOOKUPS_MAX = 16_384
const YIELD_EVERY = 256

import fs from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readInnerPid } from '../host/handle.ts'

/** A process that uses a tree. */
export interface TreeUser {
  /** Its number in the box. */
  pid: number
  /** Its name, as it gave it to itself, less what cannot be printed. */
  name: string
}

/**
 * Which of `pids` have a directory, a program, a file or memory in the filesystem of the device number `device` (as stat
 * tells it: with btrfs of one subvolume). Stops at ten, and after 16,384 looks; others of the event loop get their turn.
 */
export async function findTreeUsers(pids: readonly number[], device: number): Promise<TreeUser[]> {
  const users: TreeUser[] = []
  let looks = 0
  for (const pid of pids) {
    for (const path of handlesOf(`/proc/${pid}`)) {
      if (++looks > LOOKS_MAX) return users
      if (looks % YIELD_EVERY === 0) await nextTurn()
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

// A process that ended meanwhile, or keeps nothing there (a kernel's thread has no program).
const GONE = ['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENXIO', 'ESTALE']
const USERS_MAX = 10
const LOOKS_MAX = 16_384
const YIELD_EVERY = 256

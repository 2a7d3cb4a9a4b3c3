import fs from 'node:fs'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** A cgroup whose processes, with those of all below it, can be stopped. */
export interface FreezerGroup {
  version: 1 | 2
  path: string
}

/** By what a box is made to stand still. */
export interface FreezerPlace extends FreezerGroup {
  /** The files with the limits of its processor time. */
  quotas: readonly string[]
}

/** Makes boxes stand still. */
export interface BoxFreezer {
  freezer(boxId: string): FreezerPlace
  /** Lets the box and its commands go on, whoever has stopped them. */
  thaw(boxId: string): void
}

/** Where the cgroups of a box are: where each of its commands has one of its own, and where its time is limited. */
export interface BoxHomes {
  /** Whether they were made by somebody else, in cgroups of a pod. */
  isPlaced(boxId: string): boolean
  home(boxId: string): string
  execs(boxId: string): string[]
  cpuHome(boxId: string): string
}

export function createBoxFreezer(version: 1 | 2, homes: BoxHomes): BoxFreezer {
  const freezer = (boxId: string): FreezerPlace => {
    // What a pod is made by stops and releases the container by itself at times: above it nobody comes in between.
    const above = homes.isPlaced(boxId) ? ['/..'] : []
    const quota = version === 1 ? 'cpu.cfs_quota_us' : 'cpu.max'
    const quotas = ['', ...above].map((rest) => `${homes.cpuHome(boxId)}${rest}/${quota}`)
    return { path: `${homes.home(boxId)}${above[0] ?? ''}`, quotas, version }
  }
  return {
    freezer,
    thaw: (boxId) => {
      const paths = [freezer(boxId).path, homes.home(boxId), ...homes.execs(boxId)]
      for (const path of paths) setFrozen({ version, path }, false)
    },
  }
}

/**
 * Runs `work` while all of the box stands still; it goes on afterwards, whatever happens. Throws `runtime_unavailable` if it cannot
 * be stopped, did not stay so, or if all took longer than `boundMs`.
 */
export async function whileFrozen<T>(place: FreezerPlace, work: () => Promise<T>, boundMs = BOUND_MS): Promise<T> {
  const deadline = performance.now() + boundMs
  try {
    setFrozen(place, true)
    await untilFrozen(place, deadline)
    const result = await within(work(), deadline)
    if (!isHeld(place)) throw refusal('The box did not stand still meanwhile; try again.')
    return result
  } finally {
    setFrozen(place, false)
  }
}

/** Stops a cgroup, which takes effect soon, or lets it go on; an absent one is a success. */
export function setFrozen({ version, path }: FreezerGroup, isFrozen: boolean): void {
  try {
    if (version === 1) fs.writeFileSync(`${path}/freezer.state`, isFrozen ? 'FROZEN' : 'THAWED')
    else fs.writeFileSync(`${path}/cgroup.freeze`, isFrozen ? '1' : '0')
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error
  }
}

async function untilFrozen(place: FreezerPlace, deadline: number): Promise<void> {
  const begun = performance.now()
  for (let refilled = begun; !isFrozen(place); ) {
    const now = performance.now()
    if (now > deadline) throw refusal('The processes of the box cannot be stopped now.')
    // Whoever has used up its time stops no sooner than it runs again: that would be at the end of the period.
    if (now - refilled > REFILL_MS) {
      for (const file of place.quotas) refill(file)
      refilled = performance.now()
    }
    await (now - begun < SPIN_MS ? nextTurn() : sleep(1))
  }
}

// A limit that is set anew begins a period, also with the value it had.
function refill(file: string): void {
  try {
    fs.writeFileSync(file, fs.readFileSync(file))
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV', 'EINVAL')) throw error
  }
}

function isFrozen({ version, path }: FreezerGroup): boolean {
  const file = version === 1 ? 'freezer.state' : 'cgroup.events'
  return /^(FROZEN|frozen 1)$/m.test(read(`${path}/${file}`))
}

// Not whether all stand: a process that has just come in does in an instant.
function isHeld({ version, path }: FreezerGroup): boolean {
  const file = version === 1 ? 'freezer.self_freezing' : 'cgroup.freeze'
  return /^(1|FROZEN)$/m.test(read(`${path}/${file}`))
}

// What is gone with all it held does nothing any more.
function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return GONE
    throw error
  }
}

async function within<T>(work: Promise<T>, deadline: number): Promise<T> {
  const timer = new AbortController()
  const late = sleep(Math.max(0, deadline - performance.now()), undefined, { signal: timer.signal }).then(() => {
    throw refusal('What the box was stopped for took too long; it goes on.')
  })
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
    late.catch(() => undefined)
  }
}

function refusal(detail: string): ServiceError {
  return new ServiceError('runtime_unavailable', detail)
}

const GONE = 'FROZEN\n'
const BOUND_MS = 5_000
const SPIN_MS = 0.1
const REFILL_MS = 1

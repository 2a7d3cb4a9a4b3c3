import fs from 'node:fs'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** A cgroup, which freezes with all its descendants. */
export interface FreezerGroup {
  version: 1 | 2
  path: string
}

/** The cgroup that freezes a box. */
export interface FreezeTarget extends FreezerGroup {
  /** Files with the box's CPU limits. */
  quotas: readonly string[]
}

/** Freezes and thaws boxes. */
export interface BoxFreezer {
  freezer(boxId: string): FreezeTarget
  /** Thaws the box and its commands at every level that may be frozen. */
  thaw(boxId: string): void
}

/** Paths of a box's cgroups. */
export interface BoxHomes {
  /** True if another runtime created them, within the cgroups of a pod. */
  isPlaced(boxId: string): boolean
  home(boxId: string): string
  execs(boxId: string): string[]
  cpuHome(boxId: string): string
}

export function createBoxFreezer(version: 1 | 2, homes: BoxHomes): BoxFreezer {
  const freezer = (boxId: string): FreezeTarget => {
    // A pod's runtime sometimes freezes and thaws the container itself, so freeze the pod's cgroup above it.
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
 * Runs `work` while the box is frozen, and always thaws it afterwards. Throws `runtime_unavailable` if the box did not freeze, did not stay
 * frozen, or if the whole call took longer than `boundMs`.
 */
export async function whileFrozen<T>(target: FreezeTarget, work: () => Promise<T>, boundMs = BOUND_MS): Promise<T> {
  const deadline = performance.now() + boundMs
  try {
    setFrozen(target, true)
    await untilFrozen(target, deadline)
    const result = await withDeadline(work(), deadline)
    if (!isFreezing(target)) throw refusal('The box did not stand still meanwhile; try again.')
    return result
  } finally {
    setFrozen(target, false)
  }
}

/** Freezes a cgroup, which takes effect asynchronously, or thaws it. An absent one is a success. */
export function setFrozen({ version, path }: FreezerGroup, isFrozen: boolean): void {
  try {
    if (version === 1) fs.writeFileSync(`${path}/freezer.state`, isFrozen ? 'FROZEN' : 'THAWED')
    else fs.writeFileSync(`${path}/cgroup.freeze`, isFrozen ? '1' : '0')
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error
  }
}

/** Freezes a cgroup, and resolves once its processes stand still, after 200 ms at the latest. */
export async function freezeSoon(group: FreezerGroup): Promise<void> {
  const deadline = performance.now() + SOON_MS
  setFrozen(group, true)
  while (!isFrozen(group) && performance.now() < deadline) await sleep(1)
}

async function untilFrozen(target: FreezeTarget, deadline: number): Promise<void> {
  const begun = performance.now()
  for (let refilled = begun; !isFrozen(target); ) {
    const now = performance.now()
    if (now > deadline) throw refusal('The processes of the box cannot be stopped now.')
    // A throttled process freezes only when it runs again, at the end of its period, so refill its quota.
    if (now - refilled > REFILL_MS) {
      for (const file of target.quotas) refill(file)
      refilled = performance.now()
    }
    await (now - begun < SPIN_MS ? nextTurn() : sleep(1))
  }
}

// Writing a limit starts a new period, even with an unchanged value.
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

// Checks that no process undid the freezing, not that all are frozen. A process that has just joined freezes at once.
function isFreezing({ version, path }: FreezerGroup): boolean {
  const file = version === 1 ? 'freezer.self_freezing' : 'cgroup.freeze'
  return /^(1|FROZEN)$/m.test(read(`${path}/${file}`))
}

// A removed cgroup counts as frozen, since it has no processes.
function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return GONE
    throw error
  }
}

async function withDeadline<T>(work: Promise<T>, deadline: number): Promise<T> {
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
const SOON_MS = 200
const SPIN_MS = 0.1
const REFILL_MS = 1

import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { ServiceError } from '../../../shared/errors.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { lockFile } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readBootId } from '../host/facts.ts'
import { readStartTicks } from '../host/handle.ts'
import { hasInterfaces, processIdBases } from './host.ts'
import { HOST_IDS, INSTANCES_MAX, instanceIds, lentInstances } from './slots.ts'

/** The owner of an instance number of this host. */
export interface HostClaim {
  instanceId: string
  dataDir: string
  /** Boot id of the host at the claim. A claim of another boot is stale. */
  bootId: string
  /** Agent that made the claim, with its start time in clock ticks since boot. */
  pid: number
  startTicks: number
}

/** Details of the host that decide whether a number is free. `claimInstance` collects them. */
export interface InstanceFacts {
  claim: HostClaim | null
  /** True if interfaces or processes of the number exist. */
  isAlive: boolean
  /** True if the claim's data directory exists and its agent still runs. */
  isHeld: boolean
  /** True if /etc/subuid or /etc/subgid delegates ids of its range to others. */
  isLent: boolean
}

/** Directory of the claims of all instances of a host. */
export const HOST_CLAIMS_DIR = '/run/boxyard/hosts'

/**
 * Claims an instance number (0–11) of this host under `directory`. Returns the number that this instance already has, even if its last
 * process left interfaces or boxes behind, else the first free one. Throws `runtime_unavailable` with a remedy if there is none.
 */
export async function claimInstance(
  directory: string,
  owner: Pick<HostClaim, 'instanceId' | 'dataDir'>,
): Promise<number> {
  const { pid } = process
  const mine: HostClaim = { ...owner, bootId: readBootId(), pid, startTicks: readStartTicks(pid) ?? 0 }
  return withLock(directory, () => {
    const facts = gatherFacts(directory)
    const k = chooseInstance(facts, mine)
    if (k === null) throw new ServiceError('runtime_unavailable', noInstanceDetail(facts))
    writeClaim(directory, k, mine)
    return k
  })
}

/** Releases number `k` if this instance holds it. Removes the directory with the last claim. */
export async function releaseInstance(directory: string, k: number, instanceId: string): Promise<void> {
  await withLock(directory, () => {
    if (readClaim(directory, k)?.instanceId === instanceId) rmSync(claimPath(directory, k), { force: true })
    if (readdirSync(directory).some((name) => name !== LOCK_NAME)) return
    rmSync(`${directory}/${LOCK_NAME}`, { force: true })
    rmdirSync(directory)
  })
}

/** Returns the number for `mine`, which is its own, else the first that is free or has a stale claim. Returns null if there is none. */
export function chooseInstance(facts: readonly InstanceFacts[], mine: HostClaim): number | null {
  const own = facts.findIndex(({ claim }) => claim?.instanceId === mine.instanceId && claim.dataDir === mine.dataDir)
  if (own >= 0 && facts[own]?.isLent === false) return own
  const free = facts.findIndex((fact) => !fact.isLent && !fact.isAlive && isUnclaimed(fact, mine.bootId))
  return free >= 0 ? free : null
}

function isUnclaimed({ claim, isHeld }: InstanceFacts, currentBootId: string): boolean {
  return claim === null || claim.bootId !== currentBootId || !isHeld
}

function noInstanceDetail(facts: readonly InstanceFacts[]): string {
  const lent = facts.filter(({ isLent }) => isLent).length
  const held = facts.length - lent
  return (
    `This host has ${facts.length} instance numbers. ${held} belong to other instances, and ${lent} overlap ranges in ` +
    `/etc/subuid or /etc/subgid. Stop an instance, or move those ranges out of ${HOST_IDS.start}–${HOST_IDS.end - 1}.`
  )
}

// A claim whose agent is gone and left nothing running is free for others. Its instance may get another number at its next start.
function gatherFacts(directory: string): InstanceFacts[] {
  const lent = lentNumbers()
  const bases = processIdBases()
  return Array.from({ length: INSTANCES_MAX }, (_, k) => {
    const claim = readClaim(directory, k)
    const isHeld = claim !== null && existsSync(claim.dataDir) && readStartTicks(claim.pid) === claim.startTicks
    const hasProcesses = instanceIds(k).some(({ start, end }) => bases.some((base) => base >= start && base < end))
    return { claim, isHeld, isLent: lent.includes(k), isAlive: hasInterfaces(k) || hasProcesses }
  })
}

/** Returns the instance numbers whose ids /etc/subuid or /etc/subgid delegates to others. */
export function lentNumbers(): number[] {
  return lentInstances(['/etc/subuid', '/etc/subgid'].map(tryReadText))
}

function readClaim(directory: string, k: number): HostClaim | null {
  try {
    return CLAIM.safeParse(JSON.parse(readFileSync(claimPath(directory, k), 'utf8'))).data ?? null
  } catch {
    // An absent or incomplete claim counts as none.
    return null
  }
}

function writeClaim(directory: string, k: number, claim: HostClaim): void {
  const draft = `${claimPath(directory, k)}.new`
  writeFileSync(draft, `${JSON.stringify(claim)}\n`, { mode: 0o600 })
  renameSync(draft, claimPath(directory, k))
}

function claimPath(directory: string, k: number): string {
  return `${directory}/${k}`
}

async function withLock<T>(directory: string, work: () => T): Promise<T> {
  const path = `${directory}/${LOCK_NAME}`
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    mkdirSync(directory, { recursive: true, mode: 0o711 })
    const fd = openLock(path)
    try {
      // A release may have removed the lock file by now. A lock on an unlinked file excludes no other process.
      if (fd !== null && lockFile(fd, 'exclusive') && isAt(path, fd)) return work()
    } finally {
      if (fd !== null) closeSync(fd)
    }
    await sleep(LOCK_PAUSE_MS)
  }
  throw new ServiceError('runtime_unavailable', 'Another process holds the lock of the host claims for too long.')
}

function openLock(path: string): number | null {
  try {
    return openSync(path, 'w', 0o600)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

function isAt(path: string, fd: number): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino
}

const LOCK_NAME = '.lock'
const LOCK_ATTEMPTS = 500
const LOCK_PAUSE_MS = 10

const CLAIM = z.object({
  instanceId: z.string(),
  dataDir: z.string(),
  bootId: z.string(),
  pid: z.int().positive(),
  startTicks: z.number(),
})

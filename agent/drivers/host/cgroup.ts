import fs from 'node:fs'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BoxUsage } from '../../ports/boxes/runtime.ts'
import { cgroupsBelow, delegateCgroup, isOfCommand, processHome } from './cgroup-delegation.ts'
import { type CgroupLayout, rootsOf } from './cgroup-layout.ts'
import { type BoxFreezer, createBoxFreezer, freezeSoon, setFrozen } from './freeze.ts'
import { setMemoryLimit } from './memory.ts'
import { createOomKills } from './oom-kills.ts'
import { signalMembers } from './signals.ts'
import { readUsage } from './usage.ts'

/** The cgroups of one instance's boxes: at `/boxyard/<instance>/<box>` in every hierarchy, unless placed elsewhere. */
export interface BoxCgroups extends BoxFreezer {
  readonly version: 1 | 2
  /** Sets the path of a box's cgroups below each hierarchy, created by another runtime; null for the agent's own. */
  place(boxId: string, path: string | null): void
  /** Creates the box's cgroups with their limits for memory and processes. */
  create(boxId: string, limits: { ramMb: number; pidsMax: number }): void
  /**
   * Lets a box whose init is `init` make cgroups of its own, owned by host id `owner`. Does nothing with version 1, whose control files
   * the kernel does not bound for those it is delegated to.
   */
  delegate(boxId: string, to: { owner: number; init: number }): void
  /** Sets the box's memory limit. Throws `below_use` and changes nothing if the box uses more that cannot be reclaimed. */
  setMemory(boxId: string, ramMb: number): Promise<void>
  /** Sets the box's CPU limit, in CPUs. */
  setCpus(boxId: string, cpus: number): void
  /**
   * Raises the limits of the parent cgroup, such as a pod's, to at least those that the box is about to get. Never lowers them: the
   * parent's owner, a kubelet, does that itself, in an order that it derives from the current values.
   */
  raiseParent(boxId: string, limits: { cpus: number; ramMb: number }): void
  /** Returns the files into which a single-threaded process writes `0` to join the cgroups of the box, or of a command. */
  entrances(boxId: string, exec?: string): string[]
  createExec(boxId: string, exec: string): void
  /**
   * Moves the processes that a command left running to the box's own cgroup and removes the command's; an absent one is a success.
   * Throws if that takes more than 20 rounds.
   */
  dissolveExec(boxId: string, exec: string): Promise<void>
  execs(boxId: string): string[]
  /** Lists the host process ids of the box, including its commands. */
  processes(boxId: string): number[]
  execProcesses(boxId: string, exec: string): number[]
  /** Sends SIGKILL to all processes in the command's cgroup, including those forked meanwhile. */
  killExec(boxId: string, exec: string): void
  /** Sends SIGKILL to all processes of the box, and thaws it. */
  kill(boxId: string): void
  /** Reads the usage of a box whose init is process `pid`; returns null if it is gone. */
  usage(boxId: string, pid: number): BoxUsage | null
  /** Returns the number of OOM kills in the box. */
  oomKills(boxId: string): number
  /** Returns true if a SIGKILL seen just now may be an OOM kill; `since` is the earlier value of `oomKills`. */
  isOutOfMemory(boxId: string, since: number): boolean
  /** Polls the OOM kills, so that `isOutOfMemory` knows their time. Returns a function that stops it. */
  watchMemory(boxId: string): () => void
  /** Removes the box's cgroups; returns false if a process is left in one. Absent ones are a success. */
  remove(boxId: string): boolean
  /** Lists the ids of boxes that have a cgroup in any hierarchy. */
  list(): string[]
  /** Removes the directories of the instance if no box has one. */
  close(): void
}

/** Creates the cgroups of instance `instanceId`; with version 2 also enables their controllers. */
export function createBoxCgroups(layout: CgroupLayout, instanceId: string): BoxCgroups {
  const roots = rootsOf(layout)
  const isV1 = layout.version === 1
  const places = new Map<string, string>()
  const home = (root: string, boxId: string): string =>
    `${root}/${places.get(boxId) ?? `boxyard/${instanceId}/${boxId}`}`
  const main = (boxId: string): string => home(layout.execs, boxId)
  const execHome = (boxId: string, exec: string): string => `${main(boxId)}/${exec}`
  const execs = (boxId: string): string[] => commandsIn(main(boxId), isV1)
  const below = (boxId: string): string[] => (isV1 ? execHomes(boxId) : cgroupsBelow(main(boxId)))
  const killExec = (boxId: string, exec: string): void => killGroup(execHome(boxId, exec), isV1)
  const execHomes = (boxId: string): string[] => execs(boxId).map((exec) => execHome(boxId, exec))
  const processes = (boxId: string): number[] =>
    [home(layout.pids, boxId), ...(isV1 ? [] : below(boxId))].flatMap(readProcesses)
  const freezer = createBoxFreezer(layout.version, {
    isPlaced: (boxId) => places.has(boxId),
    home: (boxId) => home(layout.execs, boxId),
    execs: execHomes,
    cpuHome: (boxId) => home(layout.cpu, boxId),
  })
  const oom = createOomKills((boxId) => readOomKills(home(layout.memory, boxId), isV1), now)
  prepare(layout, roots, instanceId)
  return {
    version: layout.version,
    place: (boxId, path) => void (path === null ? places.delete(boxId) : places.set(boxId, path)),
    create: (boxId, limits) => {
      for (const root of roots) fs.mkdirSync(home(root, boxId), { recursive: true })
      limitBox({ memory: home(layout.memory, boxId), pids: home(layout.pids, boxId) }, limits, isV1)
    },
    delegate: (boxId, to) => (isV1 ? undefined : delegateCgroup(main(boxId), to)),
    setMemory: (boxId, ramMb) => setMemoryLimit(home(layout.memory, boxId), ramMb, layout.version),
    setCpus: (boxId, cpus) => limitCpus(home(layout.cpu, boxId), cpus, isV1),
    raiseParent: (boxId, limits) =>
      raiseParent({ memory: home(layout.memory, boxId), cpu: home(layout.cpu, boxId) }, limits, isV1),
    entrances: (boxId, exec) => {
      const leaf = exec === undefined ? main(boxId) : execHome(boxId, exec)
      const others = roots.filter((root) => root !== layout.execs).map((root) => home(root, boxId))
      // A thread that moves itself by `tasks` does not wait for an RCU grace period, as cgroup.procs does (15 ms).
      return [...others, leaf].map((path) => `${path}/${isV1 ? 'tasks' : 'cgroup.procs'}`)
    },
    createExec: (boxId, exec) => fs.mkdirSync(execHome(boxId, exec)),
    dissolveExec: (boxId, exec) => dissolve(execHome(boxId, exec), processHome(main(boxId)), layout.version),
    execs,
    processes,
    execProcesses: (boxId, exec) => readProcesses(execHome(boxId, exec)),
    killExec,
    kill: (boxId) => {
      if (isV1) {
        for (const exec of execs(boxId)) killExec(boxId, exec)
        signalMembers(() => processes(boxId), 'SIGKILL')
      } else killGroup(main(boxId), false)
      freezer.thaw(boxId)
    },
    ...freezer,
    usage: (boxId, pid) => readUsage(layout, (root) => home(root, boxId), pid),
    oomKills: oom.count,
    isOutOfMemory: oom.isRecent,
    watchMemory: oom.watch,
    remove: (boxId) => {
      const paths = [...below(boxId), ...roots.map((root) => home(root, boxId))]
      const isGone = paths.map(removeDirectory).every(Boolean)
      if (isGone) oom.forget(boxId)
      return isGone
    },
    list: () => [...new Set(roots.flatMap((root) => childDirectories(`${root}/boxyard/${instanceId}`)))],
    close: () => {
      for (const root of roots) if (removeDirectory(`${root}/boxyard/${instanceId}`)) removeDirectory(`${root}/boxyard`)
    },
  }
}

function commandsIn(path: string, isV1: boolean): string[] {
  return childDirectories(path).filter((name) => isV1 || isOfCommand(`${path}/${name}`))
}

function now(): number {
  return performance.now()
}

function limitBox(
  paths: { memory: string; pids: string },
  { ramMb, pidsMax }: { ramMb: number; pidsMax: number },
  isV1: boolean,
): void {
  const bytes = String(ramMb * 1024 * 1024)
  fs.writeFileSync(`${paths.pids}/pids.max`, String(pidsMax))
  fs.writeFileSync(`${paths.memory}/${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, bytes)
  // No swap. A host without swap accounting does not have the file.
  const swap = isV1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max'
  if (fs.existsSync(`${paths.memory}/${swap}`)) fs.writeFileSync(`${paths.memory}/${swap}`, isV1 ? bytes : '0')
}

function limitCpus(path: string, cpus: number, isV1: boolean): void {
  const quota = quotaOf(cpus)
  if (isV1) fs.writeFileSync(`${path}/cpu.cfs_quota_us`, String(quota))
  else fs.writeFileSync(`${path}/cpu.max`, `${quota} ${PERIOD_US}`)
}

function quotaOf(cpus: number): number {
  return Math.max(MIN_QUOTA_US, Math.round(cpus * PERIOD_US))
}

function raiseParent(
  homes: { memory: string; cpu: string },
  { cpus, ramMb }: { cpus: number; ramMb: number },
  isV1: boolean,
): void {
  raise(`${homes.memory}/../${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, ramMb * 1024 * 1024)
  raise(`${homes.cpu}/../${isV1 ? 'cpu.cfs_quota_us' : 'cpu.max'}`, quotaOf(cpus), isV1 ? '' : ` ${PERIOD_US}`)
}

// Leaves a file without a limit (`max` or -1) alone.
function raise(file: string, value: number, rest = ''): void {
  const now = Number.parseInt(fs.readFileSync(file, 'utf8'), 10)
  if (now > 0 && now < value) fs.writeFileSync(file, `${value}${rest}`)
}

function prepare(layout: CgroupLayout, roots: readonly string[], instanceId: string): void {
  for (const root of roots) fs.mkdirSync(`${root}/boxyard/${instanceId}`, { recursive: true })
  if (layout.version === 2) delegateControllers(layout.memory, instanceId)
  fs.writeFileSync(`${layout.pids}/boxyard/pids.max`, String(readProcessLimit()))
}

function delegateControllers(root: string, instanceId: string): void {
  for (const path of [root, `${root}/boxyard`, `${root}/boxyard/${instanceId}`])
    fs.writeFileSync(`${path}/cgroup.subtree_control`, '+cpu +memory +pids')
}

function killGroup(path: string, isV1: boolean): void {
  try {
    if (!isV1) {
      fs.writeFileSync(`${path}/cgroup.kill`, '1')
      return
    }
    fs.writeFileSync(`${path}/freezer.state`, 'FROZEN')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return
    throw error
  }
  try {
    signalMembers(() => readProcesses(path), 'SIGKILL')
  } finally {
    // Another follower of the command may have removed the empty cgroup meanwhile.
    setFrozen({ version: 1, path }, false)
  }
}

async function dissolve(path: string, into: string, version: 1 | 2): Promise<void> {
  for (let attempt = 0; attempt < DISSOLVE_ATTEMPTS; attempt++) {
    if (removeDirectory(path)) return
    // Freezes the cgroup, because processes may fork faster than they are moved; moved ones thaw.
    const isFrozen = attempt >= FREE_ATTEMPTS
    try {
      if (isFrozen) await freezeSoon({ version, path })
      for (const pid of readProcesses(path)) await moveProcess(pid, into)
    } finally {
      if (isFrozen) setFrozen({ version, path }, false)
    }
  }
  if (!removeDirectory(path)) throw new Error(`processes in ${path} fork faster than they can be moved`)
}

async function moveProcess(pid: number, into: string): Promise<void> {
  try {
    await fs.promises.writeFile(`${into}/cgroup.procs`, String(pid))
  } catch (error) {
    if (!isErrno(error, 'ESRCH', 'ENOENT', 'ENODEV')) throw error
  }
}

// All boxes together must leave the host some processes.
function readProcessLimit(): number {
  const limits = ['pid_max', 'threads-max'].map((name) => Number(fs.readFileSync(`/proc/sys/kernel/${name}`, 'utf8')))
  const lowest = Math.min(...limits)
  return Math.max(lowest - RESERVED_PROCESSES, Math.floor(lowest / 2))
}

function readOomKills(path: string, isV1: boolean): number {
  const text = readTextIfThere(`${path}/${isV1 ? 'memory.oom_control' : 'memory.events'}`)
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
}

function readProcesses(path: string): number[] {
  return readTextIfThere(`${path}/cgroup.procs`).split('\n').filter(Boolean).map(Number)
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

function removeDirectory(path: string): boolean {
  try {
    fs.rmdirSync(path)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true
    if (isErrno(error, 'EBUSY')) return false
    throw error
  }
}

const PERIOD_US = 100_000
const MIN_QUOTA_US = 1_000
const DISSOLVE_ATTEMPTS = 20
const FREE_ATTEMPTS = 4
const RESERVED_PROCESSES = 2048

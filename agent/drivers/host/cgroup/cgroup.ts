import fs from 'node:fs'
import { dirname } from 'node:path'
import { readTextIfThere } from '../../../lib/disk/file-text.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import type { BoxUsage } from '../../../ports/boxes/runtime.ts'
import { inheritCpus } from '../cpusets.ts'
import { type BoxFreezer, createBoxFreezer, freezeSoon, setFrozen } from '../freeze.ts'
import { limitSockets, setMemoryLimit } from '../memory.ts'
import { createOomKills } from '../oom-kills.ts'
import { signalMembers } from '../signals.ts'
import { readUsage } from '../usage.ts'
import { openBoxCpus } from './cpus.ts'
import { delegateCgroup, processHome, retakeControllers } from './delegation.ts'
import { type BoxDisk, openBoxDisk } from './disk-io.ts'
import { type CgroupLayout, requiredRootsOf, rootsOf } from './layout.ts'
import { liftCpuLimits, limitBox, limitCpus, raiseParent } from './limits.ts'
import { createCgroupPaths, readProcesses, removeDirectory } from './paths.ts'
import { type ProcessRoom, readProcessRoom } from './process-room.ts'

/** The cgroups of one instance's boxes: at `<base>/boxyard/<instance>/<box>` in every hierarchy, unless placed elsewhere. */
export interface BoxCgroups extends BoxFreezer, BoxDisk {
  readonly version: 1 | 2
  /** Sets the path of a box's cgroups below each hierarchy, created by another runtime. Null restores the agent's own. */
  place(boxId: string, path: string | null): void
  /** Creates the box's cgroups with their limits for memory and processes. */
  create(boxId: string, limits: { ramMb: number; pidsMax: number }): void
  /** Gives a running box that an older version started the settings that boxes of this version have. */
  upgrade(boxId: string): void
  /** Rebinds running boxes to other CPUs where some are busier than others, by the usage since the last call. */
  balanceCpus(): void
  /** Returns the box's directory in each version 1 hierarchy that counts or limits, by controller. Returns null with version 2. */
  directories(boxId: string): Record<string, string> | null
  /**
   * Lets a box whose init is `init` create its own cgroups, owned by host id `owner`. Does nothing with version 1, because the kernel does
   * not restrict what a delegate may write to its control files.
   */
  delegate(boxId: string, to: { owner: number; init: number }): void
  /** Sets the box's memory limit. Throws `below_use` and changes nothing if the box uses more that cannot be reclaimed. */
  setMemory(boxId: string, ramMb: number): Promise<void>
  /** Sets the box's CPU limit, in CPUs, and binds it to as many. */
  setCpus(boxId: string, cpus: number): void
  /**
   * Raises the limits of the parent cgroup, such as a pod's, to at least those that the box is about to get. Never lowers them. The
   * parent's owner, a kubelet, does that itself, in an order that it derives from the current values.
   */
  raiseParent(boxId: string, limits: { cpus: number; ramMb: number }): void
  /** Returns the files into which a single-threaded process writes `0` to join the cgroups of the box, or of a command. */
  entrances(boxId: string, exec?: string): string[]
  createExec(boxId: string, exec: string): void
  /**
   * Moves the processes that a command left running to the box's own cgroup and removes the command's. Succeeds if it is absent. Throws if
   * that takes more than 20 rounds.
   */
  dissolveExec(boxId: string, exec: string): Promise<void>
  execs(boxId: string): string[]
  /** Lists the host process ids of the box, including its commands. */
  processes(boxId: string): number[]
  execProcesses(boxId: string, exec: string): number[]
  /** Sends SIGKILL to all processes in the command's cgroup, including any forked during the call. */
  killExec(boxId: string, exec: string): void
  /** Sends SIGKILL to all processes of the box, and thaws it. */
  kill(boxId: string): void
  /** Reads the usage of a box whose init is process `pid`, or returns null if it is gone. */
  usage(boxId: string, pid: number): BoxUsage | null
  /** Returns the number of OOM kills in the box. */
  oomKills(boxId: string): number
  /**
   * Returns the number of OOM kills in a command's own cgroup, or null where that has no counter, as with version 1 and without nesting.
   */
  execOomKills(boxId: string, exec: string): number | null
  /** Returns the number of OOM kills in all boxes, each counted since the first call for it. */
  totalOomKills(): number
  /** Reads how many processes the box can have, and how many the kernel refused. With `exec`, includes the cgroup of that command. */
  processRoom(boxId: string, exec?: string): ProcessRoom
  /** Returns true if a SIGKILL seen just now may be an OOM kill. `since` is the earlier value of `oomKills`. */
  isOutOfMemory(boxId: string, since: number): boolean
  /** Polls the OOM kills, so that `isOutOfMemory` knows their time. Returns a function that stops it. */
  watchMemory(boxId: string): () => void
  /** Removes the box's cgroups. Returns false if a process remains in one. Absent cgroups are a success. */
  remove(boxId: string): boolean
  /** Lists the ids of boxes that have a cgroup in any hierarchy. */
  list(): string[]
  /** Removes the directories of the instance if no box has one. */
  close(): void
}

export interface CgroupOptions {
  /** Path of our own cgroup, which contains the cgroups of boxes. Default: the root of each hierarchy. */
  base?: string
  /** If false, boxes use all CPUs of the host, within their limit. Default: true. */
  bindsCpus?: boolean | undefined
}

/** Creates the cgroups of instance `instanceId`. With version 2, also enables their controllers. */
export function createBoxCgroups(layout: CgroupLayout, instanceId: string, options: CgroupOptions = {}): BoxCgroups {
  const [roots, required] = [rootsOf(layout), requiredRootsOf(layout)]
  const isV1 = layout.version === 1
  const base = options.base ?? ''
  const parent = `${base}/boxyard/${instanceId}`
  const paths = createCgroupPaths(layout, instanceId, base)
  const { home, main, execHome, execs, execHomes, below, processes, isPlaced } = paths
  const killExec = (boxId: string, exec: string): void => killGroup(execHome(boxId, exec), isV1)
  const cpuHome = (boxId: string): string => home(layout.cpu, boxId)
  const freezer = createBoxFreezer(layout.version, { isPlaced, home: main, execs: execHomes, cpuHome })
  const { forgetKills, ...kills } = openKills((boxId) => home(layout.memory, boxId), isV1 ? null : execHome)
  prepare(layout, parent)
  const cpuOptions = { parent, home, isPlaced, processes, bindsCpus: options.bindsCpus ?? true }
  const { admit, bind, forget, hasGroup, upgrade, ...cpus } = openBoxCpus(layout, cpuOptions)
  return {
    version: layout.version,
    place: paths.place,
    create: (boxId, limits) => {
      for (const root of required) fs.mkdirSync(home(root, boxId), { recursive: true })
      limitBox({ memory: home(layout.memory, boxId), pids: home(layout.pids, boxId) }, limits, isV1)
      admit(boxId)
    },
    upgrade: (boxId) => {
      if (isV1) limitSockets(home(layout.memory, boxId))
      else retakeControllers(main(boxId))
      upgrade(boxId)
    },
    delegate: (boxId, to) => (isV1 ? undefined : delegateCgroup(main(boxId), to)),
    setMemory: (boxId, ramMb) => setMemoryLimit(home(layout.memory, boxId), ramMb, layout.version),
    setCpus: (boxId, count) => {
      limitCpus(home(layout.cpu, boxId), count, isV1)
      bind(boxId, count)
    },
    raiseParent: (boxId, limits) =>
      raiseParent({ memory: home(layout.memory, boxId), cpu: home(layout.cpu, boxId) }, limits, isV1),
    entrances: (boxId, exec) => {
      const others = roots.filter((root) => root !== layout.execs && hasGroup(root, boxId))
      const leaf = exec === undefined ? main(boxId) : execHome(boxId, exec)
      return [...others.map((root) => home(root, boxId)), leaf].map((path) => `${path}/${ENTRANCES[layout.version]}`)
    },
    createExec: (boxId, exec) => fs.mkdirSync(execHome(boxId, exec)),
    dissolveExec: (boxId, exec) => dissolve(execHome(boxId, exec), processHome(main(boxId)), layout.version),
    execs,
    processes,
    execProcesses: (boxId, exec) => readProcesses(execHome(boxId, exec)),
    killExec,
    kill: (boxId) => {
      if (isV1) killEach(execHomes(boxId), () => processes(boxId))
      else killGroup(main(boxId), false)
      if (!isV1) liftCpuLimits(below(boxId))
      freezer.thaw(boxId)
    },
    ...freezer,
    ...cpus,
    ...openBoxDisk(layout, { parent, home, isPlaced, processes }),
    usage: (boxId, pid) => readUsage(layout, (root) => home(root, boxId), pid),
    ...kills,
    processRoom: (boxId, exec) =>
      readProcessRoom(home(layout.pids, boxId), exec === undefined || isV1 ? [] : [execHome(boxId, exec)]),
    remove: (boxId) => {
      // Reads the counter a last time, because it disappears with the cgroup.
      kills.oomKills(boxId)
      const paths = [...below(boxId), ...roots.map((root) => home(root, boxId))]
      const isGone = paths.map(removeDirectory).every(Boolean)
      for (const drop of isGone ? [forgetKills, forget] : []) drop(boxId)
      return isGone
    },
    ...{ list: paths.list, close: paths.close },
  }
}

type Kills = Pick<BoxCgroups, 'oomKills' | 'isOutOfMemory' | 'watchMemory' | 'totalOomKills' | 'execOomKills'>

// `execHome` is null with version 1, where commands have no cgroup of their own for memory.
function openKills(
  home: (boxId: string) => string,
  execHome: ((boxId: string, exec: string) => string) | null,
): Kills & { forgetKills(boxId: string): void } {
  const oom = createOomKills((boxId) => readOomKills(home(boxId), execHome === null), monotonicMs)
  return {
    ...{ oomKills: oom.count, isOutOfMemory: oom.isRecent, watchMemory: oom.watch, totalOomKills: oom.total },
    execOomKills: (boxId, exec) => (execHome === null ? null : readOomKills(execHome(boxId, exec), false)),
    forgetKills: oom.forget,
  }
}

function monotonicMs(): number {
  return performance.now()
}

function prepare(layout: CgroupLayout, parent: string): void {
  for (const root of requiredRootsOf(layout)) fs.mkdirSync(`${root}${parent}`, { recursive: true })
  const above = dirname(parent)
  if (layout.version === 2)
    for (const path of [dirname(above), above, parent]) delegateControllers(layout.memory + path)
  else if (layout.cpuset !== null) for (const path of [above, parent]) inheritCpus(layout.cpuset + path)
  fs.writeFileSync(`${layout.pids}${above}/pids.max`, String(readProcessLimit()))
}

function delegateControllers(path: string): void {
  fs.writeFileSync(`${path}/cgroup.subtree_control`, `+cpu +memory +pids${hasCpuset(path) ? ' +cpuset' : ''}`)
}

function hasCpuset(path: string): boolean {
  return readTextIfThere(`${path}/cgroup.controllers`).trim().split(' ').includes('cpuset')
}

function killEach(execHomes: readonly string[], processes: () => number[]): void {
  for (const path of execHomes) killGroup(path, true)
  signalMembers(processes, 'SIGKILL')
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
    // Another follower of the command may have removed the empty cgroup by now.
    setFrozen({ version: 1, path }, false)
  }
}

async function dissolve(path: string, into: string, version: 1 | 2): Promise<void> {
  for (let attempt = 0; attempt < DISSOLVE_ATTEMPTS; attempt++) {
    if (removeDirectory(path)) return
    // Freezes the cgroup, because processes may fork faster than they are moved. Moved processes thaw.
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

function readOomKills(path: string, isV1: boolean): number | null {
  const text = readTextIfThere(`${path}/${isV1 ? 'memory.oom_control' : 'memory.events'}`)
  const count = /^oom_kill (\d+)$/m.exec(text)?.[1]
  return count === undefined ? null : Number(count)
}

// A thread that moves itself by `tasks` does not wait for an RCU grace period, as cgroup.procs does (15 ms).
const ENTRANCES = { 1: 'tasks', 2: 'cgroup.procs' }
const DISSOLVE_ATTEMPTS = 20
const FREE_ATTEMPTS = 4
const RESERVED_PROCESSES = 2048

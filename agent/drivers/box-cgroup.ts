import fs from 'node:fs'
import { isErrno } from '../lib/syscalls-libc.ts'
import { setMemoryLimit } from './box-memory.ts'
import { signalMembers } from './box-signals.ts'
import { createOomKills } from './oom-kills.ts'

/** Mount points of the hierarchies that bound and hold boxes; with version 2 they are one. */
export interface CgroupLayout {
  version: 1 | 2
  pids: string
  memory: string
  cpu: string
  /** Where each command has a cgroup of its own: the freezer, which can stop it while it is killed. */
  execs: string
}

/** The cgroups of one instance's boxes, at `/boxyard/<instance>/<box>` in every hierarchy of the layout. */
export interface BoxCgroups {
  readonly version: 1 | 2
  /** Makes the box's cgroups with their limits for memory and processes. */
  create(boxId: string, limits: { ramMb: number; pidsMax: number }): void
  /**
   * Bounds the box's memory from now on. Throws `below_use`, and changes nothing, if it uses more that cannot be reclaimed.
   */
  setMemory(boxId: string, ramMb: number): Promise<void>
  /** Bounds the box's processor time from now on. */
  setCpus(boxId: string, cpus: number): void
  /** Files into which a single-threaded process writes `0` to enter the box, or one of its commands' cgroups. */
  entrances(boxId: string, exec?: string): string[]
  createExec(boxId: string, exec: string): void
  /**
   * Puts what a command left running among the box's own processes and removes its cgroup; an absent one is a success.
   * Throws if that takes more than 20 rounds.
   */
  dissolveExec(boxId: string, exec: string): Promise<void>
  execs(boxId: string): string[]
  /** Host process ids in the box, those of its commands included. */
  processes(boxId: string): number[]
  execProcesses(boxId: string, exec: string): number[]
  /** SIGKILL to everything in the command's cgroup, whatever it forks meanwhile. */
  killExec(boxId: string, exec: string): void
  /** SIGKILL to everything in the box. */
  kill(boxId: string): void
  /** How many processes of the box the kernel has ended for want of memory. */
  oomKills(boxId: string): number
  /** Whether a process of the box that SIGKILL ended just now may have ended so, where `since` was the number before. */
  isOutOfMemory(boxId: string, since: number): boolean
  /** Has `isOutOfMemory` tell the right time of each kill, until what is returned is called. */
  watchMemory(boxId: string): () => void
  /** Removes the box's cgroups; false if a process is left in one. Absent ones are a success. */
  remove(boxId: string): boolean
  /** Ids of boxes that have a cgroup in any hierarchy. */
  list(): string[]
  /** Removes the directories of the instance if no box has one. */
  close(): void
}

/** The layout of the host, from the text of `/proc/self/mountinfo`; throws naming what is missing. A pure function. */
export function findCgroupLayout(mountInfo: string): CgroupLayout {
  const mounts = mountInfo.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ')
    const [type = '', , options = ''] = right.split(' ')
    return type.startsWith('cgroup') ? [{ type, path: left.split(' ')[4] ?? '', options: options.split(',') }] : []
  })
  const hierarchy = (controller: string): string | undefined =>
    mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller))?.path
  const [pids, memory, cpu, freezer] = ['pids', 'memory', 'cpu', 'freezer'].map(hierarchy)
  if (pids !== undefined && memory !== undefined && cpu !== undefined && freezer !== undefined)
    return { version: 1, pids, memory, cpu, execs: freezer }
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.path
  if (unified === undefined || memory !== undefined)
    throw new Error('The host has no usable cgroups: the controllers pids, memory and cpu must be in one version.')
  return { version: 2, pids: unified, memory: unified, cpu: unified, execs: unified }
}

/** The cgroups of instance `instanceId`; with version 2 the controllers are switched on for them here. */
export function createBoxCgroups(layout: CgroupLayout, instanceId: string): BoxCgroups {
  const roots = [...new Set([layout.pids, layout.memory, layout.cpu, layout.execs])]
  const isFirst = layout.version === 1
  const home = (root: string, boxId: string): string => `${root}/boxyard/${instanceId}/${boxId}`
  const execHome = (boxId: string, exec: string): string => `${home(layout.execs, boxId)}/${exec}`
  const execs = (boxId: string): string[] => childDirectories(home(layout.execs, boxId))
  const killExec = (boxId: string, exec: string): void => killGroup(execHome(boxId, exec), isFirst)
  const processes = (boxId: string): number[] => {
    const own = readProcesses(home(layout.pids, boxId))
    return isFirst ? own : [...own, ...execs(boxId).flatMap((exec) => readProcesses(execHome(boxId, exec)))]
  }
  const readOomKills = (boxId: string): number => {
    const text = readText(`${home(layout.memory, boxId)}/${isFirst ? 'memory.oom_control' : 'memory.events'}`)
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0)
  }
  const oom = createOomKills(readOomKills, () => performance.now())
  for (const root of roots) fs.mkdirSync(`${root}/boxyard/${instanceId}`, { recursive: true })
  if (!isFirst) delegateControllers(layout.memory, instanceId)
  fs.writeFileSync(`${layout.pids}/boxyard/pids.max`, String(readProcessLimit()))
  return {
    version: layout.version,
    create: (boxId, limits) => {
      for (const root of roots) fs.mkdirSync(home(root, boxId), { recursive: true })
      limitBox({ memory: home(layout.memory, boxId), pids: home(layout.pids, boxId) }, limits, isFirst)
    },
    setMemory: (boxId, ramMb) => setMemoryLimit(home(layout.memory, boxId), ramMb, layout.version),
    setCpus: (boxId, cpus) => limitCpus(home(layout.cpu, boxId), cpus, isFirst),
    entrances: (boxId, exec) => {
      const leaf = exec === undefined ? home(layout.execs, boxId) : execHome(boxId, exec)
      const others = roots.filter((root) => root !== layout.execs).map((root) => home(root, boxId))
      // A thread that moves itself by `tasks` does not make the kernel wait for all processors, as cgroup.procs does (15 ms).
      return [...others, leaf].map((path) => `${path}/${isFirst ? 'tasks' : 'cgroup.procs'}`)
    },
    createExec: (boxId, exec) => fs.mkdirSync(execHome(boxId, exec)),
    dissolveExec: (boxId, exec) => dissolve(execHome(boxId, exec), home(layout.execs, boxId), isFirst),
    execs,
    processes,
    execProcesses: (boxId, exec) => readProcesses(execHome(boxId, exec)),
    killExec,
    kill: (boxId) => {
      if (!isFirst) return killGroup(home(layout.execs, boxId), false)
      for (const exec of execs(boxId)) killExec(boxId, exec)
      signalMembers(() => processes(boxId), 'SIGKILL')
    },
    oomKills: oom.count,
    isOutOfMemory: oom.isRecent,
    watchMemory: oom.watch,
    remove: (boxId) => {
      const isGone = execs(boxId).every((exec) => removeDirectory(execHome(boxId, exec)))
      if (!(roots.map((root) => removeDirectory(home(root, boxId))).every(Boolean) && isGone)) return false
      oom.forget(boxId)
      return true
    },
    list: () => [...new Set(roots.flatMap((root) => childDirectories(`${root}/boxyard/${instanceId}`)))],
    close: () => {
      for (const root of roots) if (removeDirectory(`${root}/boxyard/${instanceId}`)) removeDirectory(`${root}/boxyard`)
    },
  }
}

function limitBox(
  paths: { memory: string; pids: string },
  { ramMb, pidsMax }: { ramMb: number; pidsMax: number },
  isFirst: boolean,
): void {
  const bytes = String(ramMb * 1024 * 1024)
  fs.writeFileSync(`${paths.pids}/pids.max`, String(pidsMax))
  fs.writeFileSync(`${paths.memory}/${isFirst ? 'memory.limit_in_bytes' : 'memory.max'}`, bytes)
  // No swap; a host without swap accounting has no such file, and none is needed there.
  const swap = isFirst ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max'
  if (fs.existsSync(`${paths.memory}/${swap}`)) fs.writeFileSync(`${paths.memory}/${swap}`, isFirst ? bytes : '0')
}

function limitCpus(path: string, cpus: number, isFirst: boolean): void {
  const quota = Math.max(MIN_QUOTA_US, Math.round(cpus * PERIOD_US))
  if (isFirst) fs.writeFileSync(`${path}/cpu.cfs_quota_us`, String(quota))
  else fs.writeFileSync(`${path}/cpu.max`, `${quota} ${PERIOD_US}`)
}

function delegateControllers(root: string, instanceId: string): void {
  for (const path of [root, `${root}/boxyard`, `${root}/boxyard/${instanceId}`])
    fs.writeFileSync(`${path}/cgroup.subtree_control`, '+cpu +memory +pids')
}

function killGroup(path: string, isFirst: boolean): void {
  try {
    if (!isFirst) {
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
    // Whoever followed the command may have removed the cgroup meanwhile, if nothing was in it.
    freeze(path, false, true)
  }
}

async function dissolve(path: string, into: string, isFirst: boolean): Promise<void> {
  for (let attempt = 0; attempt < DISSOLVE_ATTEMPTS; attempt++) {
    if (removeDirectory(path)) return
    // What forks faster than it is moved must stand still meanwhile; what is moved goes on.
    const isHeld = attempt >= FREE_ATTEMPTS
    if (isHeld) freeze(path, true, isFirst)
    try {
      for (const pid of readProcesses(path)) await moveProcess(pid, into)
    } finally {
      if (isHeld) freeze(path, false, isFirst)
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

function freeze(path: string, isFrozen: boolean, isFirst: boolean): void {
  try {
    if (isFirst) fs.writeFileSync(`${path}/freezer.state`, isFrozen ? 'FROZEN' : 'THAWED')
    else fs.writeFileSync(`${path}/cgroup.freeze`, isFrozen ? '1' : '0')
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error
  }
}

// Boxes that use up theirs, all together, must leave the host some processes.
function readProcessLimit(): number {
  const limits = ['pid_max', 'threads-max'].map((name) => Number(fs.readFileSync(`/proc/sys/kernel/${name}`, 'utf8')))
  const most = Math.min(...limits)
  return Math.max(most - RESERVED_PROCESSES, Math.floor(most / 2))
}

function readProcesses(path: string): number[] {
  return readText(`${path}/cgroup.procs`).split('\n').filter(Boolean).map(Number)
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

function readText(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return ''
    throw error
  }
}

const PERIOD_US = 100_000
const MIN_QUOTA_US = 1_000
const DISSOLVE_ATTEMPTS = 20
const FREE_ATTEMPTS = 4
const RESERVED_PROCESSES = 2048

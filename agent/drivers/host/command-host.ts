import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { assertPrivateMountNamespace } from '../../lib/mounts/namespace.ts'
import { adoptOrphans } from '../../lib/syscalls/children.ts'
import { MS, mountFilesystem, unmountIfMounted } from '../../lib/syscalls/mounts.ts'
import { findBoxesHome } from './boxes-unit.ts'
import { type BoxCgroups, createBoxCgroups } from './cgroup/cgroup.ts'
import { findCgroupLayout } from './cgroup/layout.ts'
import { CRUN_COMMAND, type Crun, createCrun } from './crun.ts'
import { createExitWatcher, type ExitWatcher } from './exit-watcher.ts'
import { type BoxHandles, createBoxHandles } from './handle.ts'
import type { ProcessLimit, ProcessLimits } from './oci-spec.ts'

/** Host resources for starting commands in boxes, used by the agent and the shim. */
export interface CommandHost {
  crun: Crun
  /** Path of crun on a read-only mount. */
  crunPath: string
  cgroups: BoxCgroups
  handles: BoxHandles
  watcher: ExitWatcher
  processLimits(): ProcessLimits
  /** A tmpfs directory, which vanishes with this process. */
  workDir: string
  /** Stops the watcher and removes its mounts. */
  close(): void
}

export interface CommandHostOptions {
  instanceId: string
  /** An existing directory. */
  runDir: string
  /** Name of the work directory below `runDir`, unique to each process that runs crun. */
  workName: string
  crunPath: string
  /** As in `createBoxCgroups`. */
  bindsCpus?: boolean
  logger: Logger
}

/** Makes this process the subreaper of commands and makes up to three mounts in its mount namespace, which must be private. */
export function openCommandHost(options: CommandHostOptions): CommandHost {
  const { instanceId, runDir, workName, crunPath, bindsCpus, logger } = options
  assertPrivateMountNamespace()
  fs.accessSync(crunPath, fs.constants.X_OK)
  adoptOrphans()
  coverUnifiedHierarchy()
  const layout = findCgroupLayout(readMountInfo())
  const workDir = mountWorkDir(`${runDir}/${workName}`)
  const readOnlyCrun = bindReadOnly(crunPath, `${workDir}/${CRUN_COMMAND}`)
  const watcher = createExitWatcher(logger)
  const files = readFileLimit()
  const cgroups = createBoxCgroups(layout, instanceId, { base: findBoxesHome(layout, runDir), bindsCpus })
  return {
    crun: createCrun({ crunPath: readOnlyCrun, stateDir: `${workDir}/crun`, watcher }),
    crunPath: readOnlyCrun,
    cgroups,
    handles: createBoxHandles(`${runDir}/boxes`),
    watcher,
    processLimits: () => ({ files, core: readCoreLimit() }),
    workDir,
    close: () => {
      watcher.close()
      unmountIfMounted(readOnlyCrun)
      unmountIfMounted(workDir)
    },
  }
}

/** Hides the version 2 hierarchy under an empty tmpfs in this namespace, since crun refuses hosts with controllers in both versions. */
function coverUnifiedHierarchy(): void {
  const mounts = readMountInfo().split('\n')
  const topmost = mounts.filter((line) => line.split(' ')[4] === UNIFIED).at(-1)
  if (topmost === undefined || !topmost.includes(' - cgroup2 ')) return
  mountFilesystem({ source: 'tmpfs', target: UNIFIED, type: 'tmpfs', flags: MS.RDONLY, data: 'size=4k' })
}

// On a read-only mount crun does not copy itself before each run.
function bindReadOnly(source: string, target: string): string {
  fs.writeFileSync(target, '')
  mountFilesystem({ source, target, type: null, flags: MS.BIND })
  mountFilesystem({ source: null, target, type: null, flags: MS.BIND | MS.REMOUNT | MS.RDONLY })
  return target
}

// On tmpfs, since creating a file on a busy disk costs a millisecond. Mode 711, since the root user of a box, who has no rights on
// the host, traverses it while crun prepares the mounts.
function mountWorkDir(path: string): string {
  unmountIfMounted(path)
  if (!fs.existsSync(path)) fs.mkdirSync(path)
  mountFilesystem({ source: 'tmpfs', target: path, type: 'tmpfs', flags: MS.NOSUID | MS.NODEV, data: WORK_OPTIONS })
  fs.mkdirSync(`${path}/boxes`, { mode: 0o711 })
  return path
}

function readFileLimit(): ProcessLimit {
  const hard = Math.min(readHardLimit('Max open files'), FILES_MAX)
  return { soft: Math.min(hard, FILES_SOFT), hard }
}

// Read each time, since that may change.
function readCoreLimit(): ProcessLimit {
  const [pattern, suidDumpable] = ['kernel/core_pattern', 'fs/suid_dumpable'].map((name) =>
    fs.readFileSync(`/proc/sys/${name}`, 'utf8'),
  )
  const hard = isDumpInRoot(pattern ?? '|', suidDumpable ?? '2') ? readHardLimit('Max core file size') : 0
  return { soft: hard, hard }
}

/**
 * Returns true if the kernel writes core dumps in the root of the process that crashed. It does not where the host hands all dumps to its
 * own program ("|") or socket ("@"). With suid_dumpable 2 it writes dumps of privileged programs to an absolute path as root of the host,
 * in the host's root. A pure function.
 */
export function isDumpInRoot(pattern: string, suidDumpable: string): boolean {
  return !/^[|@]/.test(pattern) && !(suidDumpable.trim() === '2' && pattern.startsWith('/'))
}

// Stays within the agent's own hard limit, because raising it takes a capability that the host may withhold.
function readHardLimit(name: string): number {
  const line =
    fs
      .readFileSync('/proc/self/limits', 'utf8')
      .split('\n')
      .find((each) => each.startsWith(name)) ?? ''
  const [, hard = 'unlimited'] = line.slice(name.length).trim().split(/\s+/)
  return hard === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(hard)
}

function readMountInfo(): string {
  return fs.readFileSync('/proc/self/mountinfo', 'utf8')
}

const WORK_OPTIONS = 'mode=711,size=256m'
const UNIFIED = '/sys/fs/cgroup/unified'
const FILES_MAX = 1_048_576
const FILES_SOFT = 65_536

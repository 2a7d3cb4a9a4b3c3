import fs from 'node:fs'
import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { assertPrivateMountNamespace } from '../lib/mount-namespace.ts'
import { adoptOrphans } from '../lib/syscalls-children.ts'
import { isErrno } from '../lib/syscalls-libc.ts'
import { MS, mountFilesystem, UMOUNT, unmount } from '../lib/syscalls-mounts.ts'
import { type BoxCgroups, createBoxCgroups, findCgroupLayout } from './box-cgroup.ts'
import { type BoxHandles, createBoxHandles } from './box-handle.ts'
import { CRUN_COMMAND, type Crun, compileSeccompFilter, createCrun } from './crun.ts'
import { createExitWatcher, type ExitWatcher } from './exit-watcher.ts'
import type { FileLimit } from './oci-spec.ts'

/** What boxes are made with on this host, ready for use. */
export interface OciHost {
  crun: Crun
  cgroups: BoxCgroups
  handles: BoxHandles
  watcher: ExitWatcher
  /** The compiled filter of every box, base64. */
  seccompFilter: string
  fileLimit: FileLimit
  /** A directory for what only a start needs, or a running box keeps by its mounts: it is gone when this process is. */
  workDir: string
  /** Undoes what opening mounted and opened; boxes run on. */
  close(): void
}

export interface OciHostOptions {
  instanceId: string
  runDir: string
  crunPath: string
  initPath: string
  logger: Logger
}

/**
 * Makes the host ready: directories below `runDir`, cgroups, the compiled filter, and three mounts in the mount namespace of
 * this process, which must be its own. Throws `runtime_unavailable` where something is missing.
 */
export async function openOciHost(options: OciHostOptions): Promise<OciHost> {
  try {
    return await prepareHost(options)
  } catch (error) {
    throw new ServiceError('runtime_unavailable', 'This host cannot run boxes; the log says what it lacks.', {
      cause: error,
    })
  }
}

async function prepareHost({ instanceId, runDir, crunPath, initPath, logger }: OciHostOptions): Promise<OciHost> {
  assertPrivateMountNamespace()
  for (const path of [crunPath, initPath]) fs.accessSync(path, fs.constants.X_OK)
  fs.mkdirSync(runDir, { recursive: true, mode: 0o711 })
  adoptOrphans()
  coverUnifiedHierarchy()
  const layout = findCgroupLayout(readMountInfo())
  const workDir = mountWorkDir(`${runDir}/work`)
  const readOnlyCrun = bindReadOnly(crunPath, `${workDir}/${CRUN_COMMAND}`)
  const watcher = createExitWatcher(logger)
  const seccompFilter = await compileSeccompFilter(readOnlyCrun, `${runDir}/filter`, watcher)
  const cgroups = createBoxCgroups(layout, instanceId)
  return {
    crun: createCrun({ crunPath: readOnlyCrun, stateDir: `${workDir}/crun`, watcher }),
    cgroups,
    handles: createBoxHandles(`${runDir}/boxes`),
    watcher,
    seccompFilter,
    fileLimit: readFileLimit(),
    workDir,
    close: () => {
      watcher.close()
      cgroups.close()
      unmountIfMounted(readOnlyCrun)
      unmountIfMounted(workDir)
    },
  }
}

/** crun refuses a host with controllers in both versions; an empty tmpfs over the second, here only, hides it. */
function coverUnifiedHierarchy(): void {
  const mounts = readMountInfo().split('\n')
  const topmost = mounts.filter((line) => line.split(' ')[4] === UNIFIED).at(-1)
  if (topmost === undefined || !topmost.includes(' - cgroup2 ')) return
  mountFilesystem({ source: 'tmpfs', target: UNIFIED, type: 'tmpfs', flags: MS.RDONLY, data: 'size=4k' })
}

// From a read-only mount crun does not copy itself before each run.
function bindReadOnly(source: string, target: string): string {
  fs.writeFileSync(target, '')
  mountFilesystem({ source, target, type: null, flags: MS.BIND })
  mountFilesystem({ source: null, target, type: null, flags: MS.BIND | MS.REMOUNT | MS.RDONLY })
  return target
}

// In memory, since making files on a busy disk costs a millisecond each. Root of a box, which has no rights on the host,
// passes through while crun prepares its mounts.
function mountWorkDir(path: string): string {
  unmountIfMounted(path)
  fs.mkdirSync(path, { recursive: true })
  mountFilesystem({ source: 'tmpfs', target: path, type: 'tmpfs', flags: MS.NOSUID | MS.NODEV, data: WORK_OPTIONS })
  fs.mkdirSync(`${path}/boxes`, { mode: 0o711 })
  return path
}

function unmountIfMounted(path: string): void {
  try {
    unmount(path, UMOUNT.DETACH)
  } catch (error) {
    if (!isErrno(error, 'EINVAL', 'ENOENT')) throw error
  }
}

// A limit may be lowered by anyone, but raised only with a capability the host may withhold.
function readFileLimit(): FileLimit {
  const limits = fs.readFileSync('/proc/self/limits', 'utf8')
  const [, value] = /^Max open files\s+\S+\s+(\S+)/m.exec(limits) ?? []
  const hard = Math.min(value === undefined || value === 'unlimited' ? FILES_MAX : Number(value), FILES_MAX)
  return { soft: Math.min(hard, FILES_SOFT), hard }
}

function readMountInfo(): string {
  return fs.readFileSync('/proc/self/mountinfo', 'utf8')
}

const WORK_OPTIONS = 'mode=711,size=256m'
const UNIFIED = '/sys/fs/cgroup/unified'
const FILES_MAX = 1_048_576
const FILES_SOFT = 65_536

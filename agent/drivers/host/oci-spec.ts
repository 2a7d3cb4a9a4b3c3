import type { BoxSpec, ExecRequest } from '../../ports/boxes/runtime.ts'
import { MASKED_PATHS } from './masked-paths.ts'
import { NESTING_CAPABILITIES, nestingMounts } from './nesting.ts'
import { TERMINALS_PER_BOX } from './terminals.ts'

/** Host resources of a box's container. All paths are host paths. */
export interface BoxParts {
  /** Idmapped mount of the root tree. */
  stagedRoot: string
  userNamespace: string
  networkNamespace: string
  /** Static reaper that becomes pid 1. */
  init: string
  /** Files to bind read-only, by their path in the box. */
  files: Readonly<Record<string, string>>
  /** Compiled seccomp filter in base64. */
  seccompFilter: string
  /** Version of the host's cgroup hierarchy. */
  cgroupVersion: 1 | 2
}

/** The part of a box's specification in its container's configuration. In a pod the hostname is the pod's. */
export type BoxInit = Pick<BoxSpec, 'environment'> & { hostname?: string; nesting?: boolean; shmMb?: number }

/** User that a command runs as, with ids of the box's user namespace. */
export interface BoxUser {
  uid: number
  gid: number
  additionalGids: readonly number[]
  name: string | null
  /** Absolute home path from passwd, which need not exist. */
  home: string
}

/** Soft and hard limit of a process. */
export interface ProcessLimit {
  soft: number
  hard: number
}

/** Limits of commands. */
export interface ProcessLimits {
  /** Open files. */
  files: ProcessLimit
  /** Bytes of a core dump, of a box that may have some. */
  core: ProcessLimit
}

/** Builds the OCI configuration of a box, the content of `config.json`. */
export function buildBoxConfig(spec: BoxInit, parts: BoxParts): OciConfig {
  const isNesting = spec.nesting === true
  return {
    ...buildExecConfig(parts.seccompFilter),
    ...(spec.hostname === undefined ? {} : { hostname: spec.hostname }),
    root: { path: parts.stagedRoot, readonly: false },
    process: {
      ...PROCESS,
      user: { uid: 0, gid: 0 },
      args: [INIT_PATH, '-P'],
      env: environmentList(withLanguage({ PATH: DEFAULT_PATH, ...spec.environment })),
      cwd: '/',
      capabilities: capabilitySets([], []),
      rlimits: NO_CORE,
    },
    mounts: [
      ...SYSTEM_MOUNTS,
      sharedMemory(spec.shmMb ?? FIRST_SHARED_MB),
      ...(parts.cgroupVersion === 2 ? [cgroupMount(isNesting)] : []),
      ...(isNesting ? nestingMounts(parts.cgroupVersion) : []),
      { destination: INIT_PATH, type: 'bind', source: parts.init, options: ['bind', 'ro', 'nosuid', 'nodev'] },
      ...Object.entries(parts.files).map(([destination, source]) => ({
        destination,
        type: 'bind',
        source,
        options: ['bind', 'ro', 'nosuid', 'nodev', 'noexec'],
      })),
    ],
    linux: {
      namespaces: [
        ...NEW_NAMESPACES.map((type) => ({ type })),
        { type: 'user', path: parts.userNamespace },
        { type: 'network', path: parts.networkNamespace },
      ],
      seccomp: STUB_SECCOMP,
      // With nesting container runtimes look for /sys/fs/cgroup, also where it is empty.
      maskedPaths: [...MASKED_PATHS, ...MASKED_FILESYSTEMS[isNesting ? 2 : parts.cgroupVersion]],
      // Root of a box with nesting could undo it, and needs the settings of its network.
      readonlyPaths: isNesting ? [] : READONLY_PATHS,
      // Propagates the mounts and unmounts of volumes to the mount namespaces of containers in the box.
      ...(isNesting ? { rootfsPropagation: 'shared' } : {}),
    },
  }
}

/** Builds the minimal configuration of a running box for `crun exec`, which reads it for every command. Pure. */
export function buildExecConfig(seccompFilter: string): OciConfig {
  return {
    ociVersion: '1.0.2',
    annotations: { [FILTER_ANNOTATION]: seccompFilter },
    linux: {
      namespaces: [...NEW_NAMESPACES, 'user', 'network'].map((type) => ({ type })),
      seccomp: STUB_SECCOMP,
    },
  }
}

/**
 * Builds the OCI process of a command. USER and HOME default to the values of the user. PATH, LANG and, with a terminal, TERM and COLORTERM
 * have fixed defaults. Pure.
 */
export function buildExecProcess(
  request: ExecRequest & { cwd: string; nesting?: boolean },
  user: BoxUser,
  limits: ProcessLimits,
): OciProcess {
  const allowed = request.nesting === true ? [...CAPABILITIES, ...NESTING_CAPABILITIES] : CAPABILITIES
  const { terminal } = request
  const environment: Record<string, string> = {
    PATH: DEFAULT_PATH,
    HOME: user.home,
    ...(user.name === null ? {} : { USER: user.name }),
    ...(terminal === undefined ? {} : terminalVariables(request.environment)),
    ...request.environment,
  }
  return {
    ...PROCESS,
    // Lets sudo, su and ping gain ids and capabilities of the box's user namespace, which root of the box has anyway.
    noNewPrivileges: false,
    ...(terminal === undefined ? {} : { terminal: true, consoleSize: { width: terminal.cols, height: terminal.rows } }),
    user: { uid: user.uid, gid: user.gid, additionalGids: [...user.additionalGids] },
    args: [...request.command],
    env: environmentList(withLanguage(environment)),
    cwd: request.cwd,
    capabilities: capabilitySets(allowed, user.uid === 0 ? allowed : []),
    rlimits: [
      ...(request.dumpsCore === true ? [{ type: 'RLIMIT_CORE', ...limits.core }] : NO_CORE),
      { type: 'RLIMIT_NOFILE', ...limits.files },
    ],
  }
}

/** Builds the configuration of a container that never starts and only makes crun compile `seccomp`. */
export function buildCompileConfig(root: string, seccomp: unknown): OciConfig {
  return {
    ociVersion: '1.0.2',
    root: { path: root, readonly: false },
    mounts: SYSTEM_MOUNTS.filter(({ destination }) => destination === '/dev' || destination === '/proc'),
    process: {
      ...PROCESS,
      user: { uid: 0, gid: 0 },
      args: ['/init'],
      env: [],
      cwd: '/',
      capabilities: capabilitySets([], []),
    },
    linux: { namespaces: ['pid', 'mount', 'network'].map((type) => ({ type })), seccomp },
  }
}

/** Annotation with a compiled seccomp filter in base64, which crun loads. */
export const FILTER_ANNOTATION = 'run.oci.seccomp_bpf_data'
/** Path of the reaper in a box. It is on a tmpfs, so that it leaves nothing in the root. */
export const INIT_PATH = '/dev/boxyard/init'
/** The mount of POSIX shared memory. */
export const SHARED_MEMORY = { destination: '/dev/shm', type: 'tmpfs', source: 'shm' } as const
/** Directories that a root must have as mount points. */
export const MOUNT_DIRECTORIES = ['proc', 'sys', 'dev'] as const

function sharedMemory(sizeMb: number): OciMount {
  return { ...SHARED_MEMORY, options: ['nosuid', 'noexec', 'nodev', 'mode=1777', `size=${sizeMb}m`] }
}

function cgroupMount(isNesting: boolean): OciMount {
  const options = ['nosuid', 'noexec', 'nodev', 'relatime', isNesting ? 'rw' : 'ro']
  return { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options }
}

// Adds UTF-8, which every C library has without a file, unless something chooses the language of programs.
function withLanguage(environment: Record<string, string>): Record<string, string> {
  return LANGUAGE_VARIABLES.some((name) => name in environment) ? environment : { LANG: DEFAULT_LANG, ...environment }
}

function terminalVariables({ TERM = DEFAULT_TERM }: Record<string, string>): Record<string, string> {
  return FEW_COLORS.test(TERM) ? { TERM } : { TERM, COLORTERM: DEFAULT_COLORTERM }
}

function environmentList(environment: Record<string, string>): string[] {
  return Object.entries(environment).map(([name, value]) => `${name}=${value}`)
}

function capabilitySets(bounding: readonly string[], granted: readonly string[]): OciProcess['capabilities'] {
  return { bounding: [...bounding], effective: [...granted], permitted: [...granted], inheritable: [], ambient: [] }
}

/** The fields of the OCI process object that the agent uses. */
export interface OciProcess {
  terminal: boolean
  consoleSize?: { width: number; height: number }
  noNewPrivileges: boolean
  user: { uid: number; gid: number; additionalGids?: number[] }
  args: string[]
  env: string[]
  cwd: string
  capabilities: Record<'bounding' | 'effective' | 'permitted' | 'inheritable' | 'ambient', string[]>
  rlimits?: { type: string; soft: number; hard: number }[]
  oomScoreAdj?: number
}

export interface OciMount {
  destination: string
  type: string
  source: string
  options: readonly string[]
}

/** The fields of the OCI configuration that the agent uses. */
export interface OciConfig {
  ociVersion: string
  hostname?: string
  root?: { path: string; readonly: boolean }
  process?: OciProcess
  mounts?: OciMount[]
  annotations?: Record<string, string>
  linux: {
    namespaces: { type: string; path?: string }[]
    seccomp: unknown
    maskedPaths?: readonly string[]
    readonlyPaths?: readonly string[]
    rootfsPropagation?: 'shared'
  }
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEFAULT_TERM = 'xterm-256color'
const DEFAULT_COLORTERM = 'truecolor'
// Terminals that would show the sequences for 24-bit colors as text, or other colors.
const FEW_COLORS = /^(dumb|unknown|network|linux|ansi|vt\d)/
const DEFAULT_LANG = 'C.UTF-8'
const LANGUAGE_VARIABLES = ['LANG', 'LC_ALL', 'LC_CTYPE']
// Size of /dev/shm in a warm pod, until a box takes it.
const FIRST_SHARED_MB = 64
const NEW_NAMESPACES = ['pid', 'mount', 'ipc', 'uts', 'cgroup']
const PROCESS = { terminal: false, noNewPrivileges: true }
// The host's core_pattern may pipe core dumps to a program on the host.
const NO_CORE = [{ type: 'RLIMIT_CORE', soft: 0, hard: 0 }]
// crun loads the compiled filter of the annotation, but only if there is a seccomp section.
const STUB_SECCOMP = { defaultAction: 'SCMP_ACT_ALLOW' }

// Docker's defaults without AUDIT_WRITE and MKNOD. The last three are for programs whose files have them, as fping, Vault and compositors
// do. The kernel starts no program whose file has a capability that the bounding set lacks (EPERM). IPC_LOCK and SYS_NICE only give rights
// over processes and memory segments of the box. The filter of system calls takes back the rights of NET_RAW.
const CAPABILITIES = [
  ...[
    'CHOWN',
    'DAC_OVERRIDE',
    'FOWNER',
    'FSETID',
    'KILL',
    'NET_BIND_SERVICE',
    'SETFCAP',
    'SETGID',
    'SETPCAP',
    'SETUID',
  ],
  'SYS_CHROOT',
  ...['IPC_LOCK', 'NET_RAW', 'SYS_NICE'],
].map((name) => `CAP_${name}`)

const SYSTEM_MOUNTS: readonly OciMount[] = [
  { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
  {
    destination: '/dev',
    type: 'tmpfs',
    source: 'tmpfs',
    options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
  },
  {
    destination: '/dev/pts',
    type: 'devpts',
    source: 'devpts',
    options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5', `max=${TERMINALS_PER_BOX}`],
  },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
]

// With version 2 /sys/fs must stay visible, since the box's own cgroup is below it.
const MASKED_FILESYSTEMS = { 1: ['/sys/fs'], 2: ['/sys/fs/btrfs', '/sys/fs/ext4', '/sys/fs/xfs'] } as const
const READONLY_PATHS = ['/proc/sys', '/proc/sysrq-trigger']

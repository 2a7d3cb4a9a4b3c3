import type { BoxSpec, ExecRequest } from '../../ports/boxes/runtime.ts'

/** What a box's container is made of beside its specification; host paths throughout. */
export interface BoxParts {
  /** The idmapped view of the root tree. */
  stagedRoot: string
  userNamespace: string
  networkNamespace: string
  /** The static reaper that becomes process 1. */
  init: string
  /** Files to bind read-only, by their place in the box. */
  files: Readonly<Record<string, string>>
  /** A compiled seccomp filter, base64. */
  seccompFilter: string
  /** 1 or 2, the version of the host's cgroup hierarchy. */
  cgroupVersion: 1 | 2
}

/** What a container's configuration says of a box; one of a pod has the hostname of that. */
export type BoxInit = Pick<BoxSpec, 'environment'> & { hostname?: string }

/** Who a command runs as: numbers of the box's own users. */
export interface BoxUser {
  uid: number
  gid: number
  additionalGids: readonly number[]
  name: string | null
  /** Absolute, of passwd; need not exist. */
  home: string
}

/** The largest number of open files a process may have: soft and hard limit. */
export interface FileLimit {
  soft: number
  hard: number
}

/** The OCI configuration of a box, as `config.json` has it. A pure function. */
export function buildBoxConfig(spec: BoxInit, parts: BoxParts): OciConfig {
  return {
    ...buildExecConfig(parts.seccompFilter),
    ...(spec.hostname === undefined ? {} : { hostname: spec.hostname }),
    root: { path: parts.stagedRoot, readonly: false },
    process: {
      ...PROCESS,
      user: { uid: 0, gid: 0 },
      args: [INIT_PATH, '-P'],
      env: environmentList({ PATH: DEFAULT_PATH, ...spec.environment }),
      cwd: '/',
      capabilities: capabilitySets([], []),
      rlimits: NO_CORE,
    },
    mounts: [
      ...SYSTEM_MOUNTS,
      ...(parts.cgroupVersion === 2 ? [CGROUP_MOUNT] : []),
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
      maskedPaths: [...MASKED_PATHS, ...MASKED_FILESYSTEMS[parts.cgroupVersion]],
      readonlyPaths: READONLY_PATHS,
    },
  }
}

/** What `crun exec` needs to know of a running box's configuration: the less there is, the less it reads. A pure function. */
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
 * The OCI process of a command. USER and HOME come from the user, PATH and, with a terminal, TERM from a default, unless
 * given. A pure function.
 */
export function buildExecProcess(request: ExecRequest & { cwd: string }, user: BoxUser, files: FileLimit): OciProcess {
  const environment: Record<string, string> = { PATH: DEFAULT_PATH, HOME: user.home }
  if (user.name !== null) environment.USER = user.name
  const { terminal } = request
  if (terminal !== undefined) environment.TERM = DEFAULT_TERM
  return {
    ...PROCESS,
    ...(terminal === undefined ? {} : { terminal: true, consoleSize: { width: terminal.cols, height: terminal.rows } }),
    user: { uid: user.uid, gid: user.gid, additionalGids: [...user.additionalGids] },
    args: [...request.command],
    env: environmentList({ ...environment, ...request.environment }),
    cwd: request.cwd,
    capabilities: capabilitySets(CAPABILITIES, user.uid === 0 ? CAPABILITIES : []),
    rlimits: [...NO_CORE, { type: 'RLIMIT_NOFILE', ...files }],
    // Above that of init, so that the kernel, short of memory, ends a command and not the box.
    oomScoreAdj: COMMAND_OOM_SCORE,
  }
}

/** Configuration whose only use is to have crun compile `seccomp`: a container that is created and never started. */
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

/** Under which crun takes a compiled seccomp filter, base64. */
export const FILTER_ANNOTATION = 'run.oci.seccomp_bpf_data'
/** Where the reaper is in a box: on a tmpfs, so that nothing of it stays in the root. */
export const INIT_PATH = '/run/boxyard/init'
/** Directories that must be in a root for the mounts of a box. */
export const MOUNT_DIRECTORIES = ['proc', 'sys', 'dev', 'run'] as const

function environmentList(environment: Record<string, string>): string[] {
  return Object.entries(environment).map(([name, value]) => `${name}=${value}`)
}

function capabilitySets(bounding: readonly string[], granted: readonly string[]): OciProcess['capabilities'] {
  return { bounding: [...bounding], effective: [...granted], permitted: [...granted], inheritable: [], ambient: [] }
}

/** The part of the OCI process object that we use. */
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

/** The part of the OCI configuration that we use. */
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
  }
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEFAULT_TERM = 'xterm-256color'
const COMMAND_OOM_SCORE = 500
const NEW_NAMESPACES = ['pid', 'mount', 'ipc', 'uts', 'cgroup']
const PROCESS = { terminal: false, noNewPrivileges: true }
// A host may feed a core to a program of its own.
const NO_CORE = [{ type: 'RLIMIT_CORE', soft: 0, hard: 0 }]
// The compiled filter in the annotation is what is loaded; without such a section crun loads none.
const STUB_SECCOMP = { defaultAction: 'SCMP_ACT_ALLOW' }

// Docker's, less AUDIT_WRITE, MKNOD and NET_RAW.
const CAPABILITIES = [
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
  'SYS_CHROOT',
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
    options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5', 'max=256'],
  },
  {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    options: ['nosuid', 'noexec', 'nodev', 'mode=1777', 'size=65536k'],
  },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'nodev', 'ro'] },
  { destination: '/run', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=755'] },
]
const CGROUP_MOUNT: OciMount = {
  destination: '/sys/fs/cgroup',
  type: 'cgroup',
  source: 'cgroup',
  options: ['nosuid', 'noexec', 'nodev', 'relatime', 'ro'],
}

const MASKED_PATHS = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  // These tell of the host, its disks, and the pools and boxes of others. Each makes a start slower by 0.2 ms.
  '/sys/block',
  '/sys/class/block',
  '/sys/dev/block',
  '/sys/devices/virtual/block',
  '/sys/devices/virtual/dmi',
  '/sys/firmware',
  '/sys/module',
]
// With version 2 the box's own cgroup is below /sys/fs.
const MASKED_FILESYSTEMS = { 1: ['/sys/fs'], 2: ['/sys/fs/btrfs', '/sys/fs/ext4', '/sys/fs/xfs'] } as const
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

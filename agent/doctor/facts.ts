import type { AgentSettings } from '../config/agent.ts'

/** A result, or the reason why there is none. */
export type Seen<T> = { readonly value: T } | { readonly hidden: string }

/** The details that the checks use. Sizes in bytes, times in milliseconds since the epoch. */
export interface Facts {
  isRoot: boolean
  now: number
  program: ProgramFacts
  settings: SettingsFacts
  kernel: KernelFacts
  network: NetworkFacts
  tools: readonly ToolFacts[]
  /** The package that brought crun. Null if no Debian package did, or there is no crun. */
  crunPackage: Seen<CrunPackageFacts | null>
  clock: ClockFacts
  disk: Seen<DataDiskFacts>
  ports: readonly PortFacts[]
  files: readonly GuardedFileFacts[]
  service: ServiceFacts
}

/** This program. */
export interface ProgramFacts {
  version: string
  commit: string | null
  node: string
  /** Newest version of the database's schema that it knows. */
  schema: number
}

export interface SettingsFacts {
  /** Settings in force. A wrong one has its default. */
  agent: AgentSettings
  front: { host: string; port: number }
  /** One sentence for each wrong setting. */
  faults: readonly string[]
  /** A file of settings that could not be read. Null if there is none. */
  hiddenFile: string | null
}

export interface KernelFacts {
  release: string
  machine: string
  /** Names in /proc/filesystems. */
  filesystems: Seen<readonly string[]>
  /** Whether each module is built in, loaded, or can be loaded. */
  modules: Readonly<Record<'btrfs' | 'loop' | 'nf_tables', Seen<boolean>>>
  hasLoopControl: boolean
  mountInfo: Seen<string>
  /** Controllers in `cgroup.controllers` of version 2. Null with version 1. */
  controllers: Seen<readonly string[] | null>
  /** Names in /proc/self/ns. */
  namespaces: Seen<readonly string[]>
  /** Values of /proc/sys/user/max_*_namespaces by kind. */
  namespaceLimits: Seen<Readonly<Record<string, number>>>
  /** Values of /proc/sys/kernel/pty. */
  terminals: Seen<{ max: number; reserve: number } | null>
}

export interface NetworkFacts {
  /** Output of `nft list tables`. Its error if it failed. */
  nft: Seen<{ isUsable: boolean; output: string }>
  problems: Seen<readonly { code: string; evidence: string; remedy: string }[]>
  /** Nameservers that boxes use, and whether each answered. */
  nameservers: Seen<readonly { address: string; answered: boolean }[]>
  /** Instance numbers whose host ids /etc/subuid or /etc/subgid delegates to others. */
  lentNumbers: readonly number[]
}

/** A program of the host that the agent starts. */
export interface ToolFacts {
  name: string
  /** Debian's package. */
  package: string
  /** Null if none is needed. */
  minVersion: string | null
  path: string | null
  version: string | null
}

/** The Debian package that brought crun. */
export interface CrunPackageFacts {
  name: string
  installed: string
  /** The first version with all security fixes, if the installed one is older. */
  lacks: string | null
  /** The version that apt would install, if the installed one is older. */
  offered: string | null
}

export interface ClockFacts {
  isSynchronized: Seen<boolean>
  /** The newest time that a file of the program or of the deployment was changed at. */
  newestFile: { path: string; at: number } | null
}

export interface DataDiskFacts {
  dataDir: string
  exists: boolean
  /** The directory itself, or the nearest one above it that exists. */
  path: string
  type: string
  isReadOnly: boolean
  totalBytes: number
  availableBytes: number
  /** Null if the filesystem does not count them. */
  freeInodes: number | null
  /** Null while there is no pool. */
  pool: { sizeBytes: number } | null
}

/** An address to listen on. */
export interface PortFacts {
  variable: string
  host: string
  port: number
  /** Empty if nothing listens there. `isOurs` is true of a process of this deployment. */
  holders: Seen<readonly { pid: number; command: string; unit: string | null; isOurs: boolean }[]>
  /** Error code of a try to listen. Null if it could, or if something listens. */
  refusal: string | null
}

/** A file or directory whose mode matters. */
export interface GuardedFileFacts {
  path: string
  /** Permission bits that it may have, and those that it must have. */
  allowed: number
  required: number
  /** Null if it is missing. */
  found: Seen<{ mode: number; uid: number; isDirectory: boolean } | null>
  /** The feature that needs it, if its absence is a fault, else null. */
  neededBy: string | null
}

export interface ServiceFacts {
  /** Schema version of the database. Null if there is none. */
  schema: Seen<number | null>
  hasPoolImage: boolean
  /** Whether the database has a pool. */
  expectsPool: Seen<boolean>
  /** The process that has locked the data directory. */
  holder: Seen<{ pid: number; unit: string | null } | null>
  url: string
  /** Answer of `GET /healthz`, or the error. */
  health: Seen<{
    status: string
    problems: readonly { code: string; evidence: string; remedy: string }[] | null
  }>
  /** Version of the running agent. Null if it does not report one. */
  runningVersion: { version: string; commit: string | null } | null
  /** Null without systemd. */
  units: Seen<readonly UnitFacts[] | null>
  /** Last error that ended an agent, of its log. Null if there is none. */
  lastFailure: string | null
}

/** A unit, as `systemctl show` describes it. */
export interface UnitFacts {
  name: string
  load: string
  active: string
  sub: string
  file: string
  result: string
  status: string
}

/** The readiness probe of a service. Times in ms. */
export interface Readiness {
  /** `http` requests a path. `command` runs in the box. */
  probe: { kind: 'http'; path: string } | { kind: 'tcp' } | { kind: 'command'; command: readonly string[] }
  intervalMs: number
  timeoutMs: number
  /** Failed probes in a row that make a healthy run unhealthy. */
  threshold: number
}

/** The definition of a service, with all defaults applied. */
export interface ServiceSpec {
  command: string[]
  env: Record<string, string>
  cwd: string | null
  user: string | null
  /** The port on which it listens. Null: none. */
  port: number | null
  /** How URLs and probes speak to that port. Absent: HTTP/1.1. */
  protocol?: 'h2c'
  /** Services of the same box that must be ready before it starts. */
  needs: string[]
  restart: 'always' | 'on-failure' | 'never'
  readiness: Readiness | null
  stopSignal: NodeJS.Signals
  graceSeconds: number
}

/** One run of a version, from its start to its end. Times in ms since the epoch. */
export interface RunRecord {
  /** The id of its command and of its output. It is recorded before the command starts. */
  execId: string
  startedAt: number
  /** Bytes of the log before its output. */
  logOffset: number
  /** When its box was started. After another start of the box, the service restarts. */
  boxSince: number
  end: RunEnd | null
}

/** The end of a run. It is unknown if both code and signal are null. */
export interface RunEnd {
  exitCode: number | null
  signal: string | null
  outOfMemory: boolean
  /** Processes that were killed for want of memory while it ran. Absent: none. */
  oomKills?: number
  endedAt: number
  /** Bytes of output. */
  logBytes: number
}

/** A fork of a box, which the API does not show, for one version of a service. */
export interface ForkRecord {
  /** Its id in the runtime. */
  boxId: string
  root: string
  /** The data volumes of the box, read-only, or writable copies of them. */
  mounts: { subvolume: string; path: string; readOnly: boolean }[]
  /** Its machine id and SSH host keys are its own, and stay. */
  hasIdentity?: true
}

/** One version of a service, with its runs. */
export interface InstanceRecord {
  spec: ServiceSpec
  /** The fork in which it runs. Null: in the box itself. */
  fork: ForkRecord | null
  /** The port chosen at its last start, which it gets as `PORT`. Null: none, or it was not started yet. */
  port: number | null
  /** The newest runs, whose output is kept, oldest first. */
  runs: RunRecord[]
  /** Since the last start by a request. */
  restarts: number
  /** Consecutive ends. The end of a run of at least 10 s counts as the first. */
  failures: number
}

/** A version that must become ready. */
export interface CandidateRecord extends InstanceRecord {
  /** The longest from a start until it is ready, ms. */
  readyMs: number
  /** Why it failed, and its last lines of output. Null: it has not failed. */
  failure: { why: string; output: string } | null
}

/** An entry of the history of a service. */
export interface ServiceChange {
  at: number
  what: string
  /** Name of the token. Null: no request did it. */
  by: string | null
  generation: number
}

/** A service: its desired state, its versions, and a version of the record that each write raises. Times in ms since the epoch. */
export interface ServiceRecord {
  boxId: string
  name: string
  version: number
  createdAt: number
  updatedAt: number
  spec: ServiceSpec
  /** Increases with each change of the spec. */
  generation: number
  desired: 'running' | 'stopped'
  /** Raised by each start by a request. A run for a lower number does not satisfy it. */
  asked: number
  /** The version that has the traffic. */
  active: (InstanceRecord & { asked: number }) | null
  /** A version that runs beside the active one, at a URL of its own. */
  preview: CandidateRecord | null
  /** The version that was active until `since`. It keeps running for a rollback, until the service or its box is stopped. */
  previous: (InstanceRecord & { since: number }) | null
  /** A version that becomes active when it is ready, and the token that asked for it. */
  next: (CandidateRecord & { what: 'promoted' | 'rolled_back'; by: string }) | null
  /** Versions to end and then remove, oldest first. `drains` ends one after its open requests. */
  retired: (InstanceRecord & { drains: boolean })[]
  /** Domains at which it is published. See `BoxRecord.domains`. */
  domains: string[]
  tags: Record<string, string>
  /** Oldest first. */
  history: ServiceChange[]
}

/** A service without its long parts, which determines the ports and needs of its box. */
export interface ServiceOutline extends Pick<ServiceRecord, 'boxId' | 'name' | 'domains'> {
  spec: Pick<ServiceSpec, 'port' | 'protocol' | 'needs'>
  active: InstanceOutline | null
  preview: (InstanceOutline & { failure: { why: string } | null }) | null
  previous: InstanceOutline | null
  next: InstanceOutline | null
  retired: InstanceOutline[]
}

/** One version of a service, with only its last run. */
export interface InstanceOutline {
  spec: Pick<ServiceSpec, 'port' | 'protocol'>
  fork: Pick<ForkRecord, 'boxId'> | null
  port: number | null
  runs: Pick<RunRecord, 'execId' | 'end'>[]
}

/** Versions of a service that may become active. */
export type CandidateSlot = 'preview' | 'next'

/** Versions of a service that are started. */
export type StartSlot = 'active' | CandidateSlot

/** Stores services by box and name, and deletes them with their box. All writes are durable when they resolve. */
export interface ServiceStore {
  /** Inserts a new service. Returns `name_taken` if the box has one of that name, `box_gone`, or `too_many` above `max` in the box. */
  insert(record: ServiceRecord, max: number): Promise<'stored' | 'name_taken' | 'box_gone' | 'too_many'>
  get(boxId: string, name: string): Promise<ServiceRecord | null>
  /** Compare-and-set: false if the stored version is not `record.version - 1`. */
  replace(record: ServiceRecord): Promise<boolean>
  /** As `replace`, with the domains of `record`, like `BoxStore.publish`. */
  publish(record: ServiceRecord): Promise<'stored' | 'changed' | { taken: string }>
  /** Deletes a service. False if its stored version differs. */
  remove(boxId: string, name: string, version: number): Promise<boolean>
  /** As `of`, for one service. */
  outline(boxId: string, name: string): Promise<ServiceOutline | null>
  /** Lists the services of a box by name, without reading their records. */
  of(boxId: string): Promise<ServiceOutline[]>
  /**
   * Lists names of a box in order. Selects names that begin with `prefix` and come after `after`, at most `limit`. Their records fit
   * together into a page (`PAGE_BYTES`), but at least one is listed.
   */
  names(
    boxId: string,
    query: { prefix: string; after: string; limit: number },
  ): Promise<{ names: string[]; hasMore: boolean }>
  /** Lists the keys of all services. */
  keys(): Promise<Pick<ServiceRecord, 'boxId' | 'name'>[]>
  /** Reads all services in the order of their keys, few at a time. See `BoxStore.each`. */
  each(): AsyncIterable<ServiceRecord>
  /** As `each`, but only services with a version in a fork, without reading the others. */
  eachWithFork(): AsyncIterable<ServiceRecord>
}

/** When a service is ready. Times in ms. */
export interface Readiness {
  /** `http`: a path; `command`: run in the box. */
  probe: { kind: 'http'; path: string } | { kind: 'tcp' } | { kind: 'command'; command: readonly string[] }
  intervalMs: number
  timeoutMs: number
  /** Bad looks in a row that end its being ready. */
  threshold: number
}

/** What a service is, all defaults applied. */
export interface ServiceSpec {
  command: string[]
  env: Record<string, string>
  cwd: string | null
  user: string | null
  /** Where it listens; null: nowhere. */
  port: number | null
  /** Services of the same box that are to be ready before it starts. */
  needs: string[]
  restart: 'always' | 'on-failure' | 'never'
  readiness: Readiness | null
  stopSignal: NodeJS.Signals
  graceSeconds: number
}

/** One process of a service, from its start to its end. Times in ms since the epoch. */
export interface RunRecord {
  /** What it is held under, and its output is kept; written before it is started. */
  execId: string
  startedAt: number
  /** Bytes of the log before it. */
  logOffset: number
  /** Since when its box ran: a box that was started anew starts its services anew. */
  boxSince: number
  end: RunEnd | null
}

/** How a run ended; with neither code nor signal nobody knows. */
export interface RunEnd {
  exitCode: number | null
  signal: string | null
  outOfMemory: boolean
  endedAt: number
  /** Bytes that it wrote. */
  logBytes: number
}

/** A copy of a box that nobody sees, for one version of a service. */
export interface ForkRecord {
  /** What the runtime knows it by. */
  boxId: string
  root: string
  /** Data volumes of the box, or, where they can be written to, copies of them. */
  mounts: { subvolume: string; path: string; readOnly: boolean }[]
}

/** One version of a service: what runs, or ran last, of it. */
export interface InstanceRecord {
  spec: ServiceSpec
  /** Where it runs; null: in the box itself. */
  fork: ForkRecord | null
  /** Where it listens, which it is told by `PORT`: chosen at each start. Null: nowhere, or it was not started yet. */
  port: number | null
  /** The newest are kept with their output, oldest first; the last one runs, or ran last. */
  runs: RunRecord[]
  /** Since somebody last asked for a start. */
  restarts: number
  /** Ends one soon after another; 0 once it ran for a while. */
  failures: number
}

/** A version that is to show that it becomes ready. */
export interface CandidateRecord extends InstanceRecord {
  /** How long each start of it may take to be ready, ms. */
  readyMs: number
  /** Why it will not be ready any more, and the last that it wrote; null: it may be. */
  failure: { why: string; output: string } | null
}

/** Something that was done to a service. */
export interface ServiceChange {
  at: number
  what: string
  /** Name of the token; null: the service did it itself. */
  by: string | null
  generation: number
}

/** A service as it is stored: what is wanted, what ran, and a version that each write raises. Times in ms since the epoch. */
export interface ServiceRecord {
  boxId: string
  name: string
  version: number
  createdAt: number
  updatedAt: number
  spec: ServiceSpec
  /** Raised by each change of the spec. */
  generation: number
  desired: 'running' | 'stopped'
  /** Raised by each start that somebody asked for: whatever ran for an earlier one is no answer to it. */
  asked: number
  /** Whom its traffic goes to. */
  active: (InstanceRecord & { asked: number }) | null
  /** A version that runs beside the active one, to be looked at. */
  preview: CandidateRecord | null
  /** The version that was active until `since`: it goes on for a rollback, while neither service nor box are stopped. */
  previous: (InstanceRecord & { since: number }) | null
  /** A version that is made active as soon as it is ready, and for whom. */
  next: (CandidateRecord & { what: 'promoted' | 'rolled_back'; by: string }) | null
  /** What is ended and then forgotten, the earliest first; `drains`: it had traffic. */
  retired: (InstanceRecord & { drains: boolean })[]
  /** Names at which it is published; see `BoxRecord.domains`. */
  domains: string[]
  tags: Record<string, string>
  /** Oldest first. */
  history: ServiceChange[]
}

/** Versions of a service that may become active. */
export type CandidateSlot = 'preview' | 'next'

/** Services by box and name; those of a box go with it. All writes are durable when they resolve. */
export interface ServiceStore {
  /** Records a new one. `name_taken` if the box has one of that name; `box_gone`; `too_many` above `max` in the box. */
  insert(record: ServiceRecord, max: number): Promise<'stored' | 'name_taken' | 'box_gone' | 'too_many'>
  get(boxId: string, name: string): Promise<ServiceRecord | null>
  /** Compare-and-set: false if the stored version is not `record.version - 1`. */
  replace(record: ServiceRecord): Promise<boolean>
  /** As `replace`, with the domains of `record`; as `BoxStore.publish`. */
  publish(record: ServiceRecord): Promise<'stored' | 'changed' | { taken: string }>
  /** Forgets one; false if its version is another. */
  remove(boxId: string, name: string, version: number): Promise<boolean>
  /** Those of a box by name. */
  of(boxId: string): Promise<ServiceRecord[]>
  all(): Promise<ServiceRecord[]>
}

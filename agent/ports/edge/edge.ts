/** Where requests for one host name go. */
export interface EdgeRoute {
  /** Lower case, without port or trailing dot. */
  host: string
  project: string
  boxId: string
  /** `token`: whoever asks needs a grant; `public`: anybody. */
  auth: 'token' | 'public'
  /** IPv4 address by which this host reaches the box, and the port that is tried there. */
  address: string
  port: number
}

/**
 * A credential that may pass. `scope` is a project for a bearer token, a host name for a session cookie: a credential is
 * good only there.
 */
export interface EdgeGrant {
  /** SHA-256 of the credential, hexadecimal, lower case. */
  credential: string
  scope: string
  /** Ms since the epoch. */
  expiresAt: number
}

/** The head of a request that the edge cannot decide by itself: no route, or no grant. */
export interface EdgeRequest {
  method: string
  /** As in `EdgeRoute.host`. */
  host: string
  /** Path and query, as they came. */
  target: string
  /** Names in lower case; those that the gate decides by, and no others. */
  headers: Readonly<Record<string, string>>
  clientAddress: string
  /** The client speaks HTTPS, to the edge or to what stands in front of it. */
  isSecure: boolean
}

/** What is to become of it: to that route, or that answer. */
export type EdgeDecision =
  | { kind: 'forward'; route: EdgeRoute }
  | { kind: 'answer'; status: number; headers: Readonly<Record<string, string | readonly string[]>>; body: string }

/** Who decides what the edge cannot; asked over a channel that no box and no client reaches. */
export interface EdgeGate {
  /** Never rejects. May take as long as a box takes to start. */
  decide(request: EdgeRequest): Promise<EdgeDecision>
  /** Whether a certificate may be got now for what a client calls a host. */
  certifies(host: string): Promise<boolean>
}

/** What a box's URLs were used for since the edge runs. */
export interface EdgeUse {
  /** Requests so far; starts at 0 when the edge is started anew. */
  requests: number
  /** Connections and streams that are open now. */
  open: number
}

/** What the edge tells of itself. */
export interface EdgeMetrics {
  /** How often this driver started it; 0 if it was adopted and has run since. */
  starts: number
  /** null: it does not run, or did not answer within 2 s. */
  served: EdgeServed | null
}

/** What it serves now, and has served. Counts are those of the process that takes connections, and begin with it. */
export interface EdgeServed {
  /** Requests that were answered, by the class of the status. */
  answers: Readonly<Record<EdgeAnswerClass, number>>
  /** Requests that came to no box: what cannot be read as one, or never came whole; what was refused, or led to sign-in. */
  refused: { malformed: number; notAdmitted: number }
  connections: { total: number; open: number; limit: number }
  receivedBytes: number
  sentBytes: number
  /** Boxes that took no connection, and those that ended one without an answer. */
  boxErrors: { connect: number; answer: number }
  /** Host names that it knows a box for, and credentials that pass without being asked about. */
  names: number
  grants: number
}

/** `other`: an answer that has no status of HTTP. */
export type EdgeAnswerClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'other'

/**
 * The reverse proxy before the boxes. It goes on serving while the agent is away, and is adopted by the next one. What it
 * does not know it asks the gate, which it waits for while the agent restarts.
 */
export interface Edge {
  /** Where it listens. */
  readonly port: number
  /** Brings what it serves to exactly these; call once, before the others. Started if it does not run. */
  open(state: { routes: readonly EdgeRoute[]; grants: readonly EdgeGrant[]; gate: EdgeGate }): Promise<void>
  /** Resolves once it serves so. A host that is set replaces what was there; open connections stay where they are. */
  change(change: { set?: readonly EdgeRoute[]; remove?: readonly string[] }): Promise<void>
  grant(grants: readonly EdgeGrant[]): Promise<void>
  /** By credential, in every scope. */
  revoke(credentials: readonly string[]): Promise<void>
  /** Resolves once no request is open to that address and port; those open after `graceMs` are cut off. */
  drain(target: { address: string; port: number }, graceMs: number): Promise<void>
  /** By box id; boxes that were never asked for are left out. */
  use(): Promise<ReadonlyMap<string, EdgeUse>>
  /** For those who watch it; never rejects. */
  figures(): Promise<EdgeMetrics>
  /** What is wrong with it, for the health report. */
  problems(): Promise<{ code: string; evidence: string; remedy: string }[]>
  /** Lets go of it; it goes on serving. With `release` it ends. */
  close(options: { release: boolean }): Promise<void>
}

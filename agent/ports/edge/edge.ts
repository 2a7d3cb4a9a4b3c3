import type { Duplex } from 'node:stream'
import type { ServiceError } from '../../../shared/errors.ts'

/** Route of one host name. */
export interface EdgeRoute {
  /** Lower case, without port or trailing dot. */
  host: string
  project: string
  boxId: string
  /** `token`: requests need a grant. `public`: none. */
  auth: 'token' | 'public'
  /** IPv4 address and port of the box, as seen from this host. */
  address: string
  port: number
  /** The server speaks HTTP/2 without TLS. Absent: HTTP/1.1. */
  protocol?: 'h2c' | undefined
}

/**
 * A credential that the edge admits within `scope`: a project for a bearer token, a host name for a session cookie.
 */
export interface EdgeGrant {
  /** SHA-256 of the credential, hexadecimal, lower case. */
  credential: string
  scope: string
  /** Ms since the epoch. */
  expiresAt: number
}

/** The head of a request that the edge cannot decide, because it has no route or no grant. */
export interface EdgeRequest {
  method: string
  /** As in `EdgeRoute.host`. */
  host: string
  /** Path and query, as sent. */
  target: string
  /** Only the headers that the gate decides by, with lower-case names. */
  headers: Readonly<Record<string, string>>
  clientAddress: string
  /** The client uses HTTPS, to the edge or a proxy in front of it. */
  isSecure: boolean
  /** The edge of another cell has forwarded the request here, so this edge does not forward it again. */
  isLed: boolean
  /** The agent's own pages answer it, unless another cell has the host. For the sign-in, that is the host to sign in for. */
  isOwn: boolean
}

/** The edge of another cell, as other edges reach it. */
export interface CellEdge {
  /** An IP address. */
  address: string
  port: number
}

/** Forward the request to a route or to the edge of another cell, leave it to the agent's own pages, or answer it. */
export type EdgeDecision =
  | { kind: 'forward'; route: EdgeRoute }
  | { kind: 'lead'; to: CellEdge }
  | { kind: 'own' }
  | { kind: 'answer'; status: number; headers: Readonly<Record<string, string | readonly string[]>>; body: string }

/** An answer that the edge gives itself. */
export type EdgeAnswerDecision = Extract<EdgeDecision, { kind: 'answer' }>

/** A port of a box that a request of the edge could not reach, or that gave no answer. */
export interface EdgeReach {
  owner: { project: string; boxId: string }
  /** Connects at the loopback of the box. @throws ServiceError `port_not_listening`, `port_unreachable`, `box_not_running` */
  connect(): Promise<{ readonly stream: Duplex }>
  /** Call once the request has ended. */
  release(): void
}

/** Decides what the edge cannot. Called over a channel that no box or client can reach. */
export interface EdgeGate {
  /** Never rejects. May take as long as the start of a box. */
  decide(request: EdgeRequest): Promise<EdgeDecision>
  /** Tests whether a certificate may be issued now for a host name from a TLS handshake. */
  certifies(host: string): Promise<boolean>
  /**
   * Finds the box of an address and port that a route leads to.
   * @throws ServiceError `port_unreachable` for any other address or port, `rate_limited` for too many requests at once
   */
  reach(target: { address: string; port: number }): Promise<EdgeReach>
  /** Words a fault for the client of a request: a problem, or a page for a browser. */
  refuse(error: ServiceError, request: { method: string; accept: string | undefined }): Promise<EdgeAnswerDecision>
}

/** Bounds of what clients may take of the edge. A client is an IPv4 address or a /64 network of IPv6. */
export interface EdgeLimits {
  /** Most connections at once. One client has half of them at most, and no more than others leave free. */
  connections: number
  /** New connections a second of one client, over ten seconds. */
  connectionsPerSecond: number
  /** Requests a second of one client that the agent must decide or answer, over ten seconds. */
  questionsPerSecond: number
}

/** Use of a box's URLs since the edge started. */
export interface EdgeUse {
  /** Requests so far. A restart of the edge resets it. */
  requests: number
  /** Open connections and streams. */
  open: number
}

/** Metrics of the edge. */
export interface EdgeMetrics {
  /** Starts by this driver, or 0 for an adopted process. */
  starts: number
  /** Null: it does not run, or did not answer within 2 s. */
  served: EdgeServed | null
}

/** State and counters of the edge. Counters are of the process that accepts connections, since its start. */
export interface EdgeServed {
  /** Answered requests, by class of the status. */
  answers: Readonly<Record<EdgeAnswerClass, number>>
  /** Requests that reached no box. They were malformed or incomplete, or were refused or redirected to the sign-in. */
  refused: { malformed: number; notAdmitted: number }
  connections: { total: number; open: number; limit: number }
  receivedBytes: number
  sentBytes: number
  /** Failed connections to boxes, and connections that a box closed without a response. */
  boxErrors: { connect: number; answer: number }
  /** Entries of routes and grants. */
  names: number
  grants: number
}

/** `other`: no HTTP status. */
export type EdgeAnswerClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'other'

/**
 * The reverse proxy in front of the boxes. It keeps serving while the agent restarts, and the next agent adopts it. For requests without
 * route or grant it asks the gate, waiting while the agent restarts.
 */
export interface Edge {
  /** Port that it listens on. */
  readonly port: number
  /** Port for the edges of other cells. Null: no fleet. */
  readonly cellPort: number | null
  /**
   * Sets routes and grants to exactly these. Starts the edge if none runs, which later changes wait for, but not this call. Call once,
   * before the other methods. An edge that kept running may have open requests of a credential without a grant, which end soon after.
   */
  open(state: { routes: readonly EdgeRoute[]; grants: readonly EdgeGrant[]; gate: EdgeGate }): Promise<void>
  /** Resolves once it serves after `open`, or could not start, which `problems` then reports. */
  started(): Promise<void>
  /**
   * Changes routes. Resolves once they are in force. Open connections are not affected. A change that rejects comes into force as soon as
   * the edge can be reached.
   */
  change(change: { set?: readonly EdgeRoute[]; remove?: readonly string[] }): Promise<void>
  /** Changes the hosts whose requests go to the edges of other cells. There are none after `open`. As `change`. */
  lead(change: { set?: ReadonlyMap<string, CellEdge>; remove?: readonly string[] }): Promise<void>
  grant(grants: readonly EdgeGrant[]): Promise<void>
  /**
   * Revokes credentials in every scope. Resolves once none is admitted. The requests, WebSockets and event streams that they admitted
   * have ended a second later, as they do after a grant has expired.
   */
  revoke(credentials: readonly string[]): Promise<void>
  /** Lists the credentials by which open requests were admitted. */
  credentials(): Promise<ReadonlySet<string>>
  /** Resolves once no request is open to that address and port. Closes requests that are open after `graceMs`. */
  drain(target: { address: string; port: number }, graceMs: number): Promise<void>
  /** Use by box id, without boxes that had no requests. */
  use(): Promise<ReadonlyMap<string, EdgeUse>>
  /** Reads the metrics. Never rejects. */
  metrics(): Promise<EdgeMetrics>
  /** Lists its problems, for the health report. */
  problems(): Promise<{ code: string; evidence: string; remedy: string }[]>
  /** Detaches from it, and it keeps serving. With `release` it ends. */
  close(options: { release: boolean }): Promise<void>
}

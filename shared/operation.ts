import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './schemas/access.ts'
import { noParams, noQuery } from './schemas/common.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Where the resources of an operation are if several agents serve one API (docs/design/fleet-requests.md). `box`, `volume` and `operation`
 * name the cell with the record of `{name}` or of the operation. `project` and `fleet` name each cell with resources of the project or the
 * fleet. `any` names the agent that gets the request.
 */
export type Owner = 'box' | 'volume' | 'operation' | 'project' | 'fleet' | 'any'

/** A row of the table that defines routing, validation, permissions, audit and the OpenAPI document. */
export interface Operation {
  id: string
  method: Method
  /** A template. `{param}` matches one whole segment. */
  path: string
  owner: Owner
  /** Action and object, at most eight words, without a full stop. */
  summary: string
  /** Sentences that follow the summary in the documents, or null for none. */
  details: string | null
  /** Null if no token is needed, though a client can send one. `any` means a valid token with any permissions. */
  permission: Permission | 'any' | null
  /** True if it needs a token of all projects (`*`), because it concerns resources that projects share. */
  ofAllProjects: boolean
  /** Effect of a broken, expired or revoked token on an operation that needs none: `ignored` treats it as absent. */
  badToken: 'refused' | 'ignored'
  params: z.ZodType<Record<string, string>>
  query: z.ZodType<Record<string, unknown>>
  /** Null if the operation refuses a body. */
  body: z.ZodType | null
  /** Null if the answer has no body. */
  response: z.ZodType | null
  /** The status of success. */
  status: number
  /** Description of the success in the OpenAPI document. Fixed where the original specification names it. */
  outcome: string
  /** A second status of success, for an effect that is still under way (docs/api.md#waiting). */
  laterStatus: number | null
  /** Schema of the answer with that status. Null if it is the same as for `status`. */
  laterResponse: z.ZodType | null
  maxBodyBytes: number
  /** `websocket` is a GET that is upgraded. A plain answer to it is an error. */
  transport: 'http' | 'websocket'
  /** Whether a sign-in link counts as a token here, and whether the operation uses it up or only reads it. */
  ofLink: 'used' | 'read' | false
  /** Type of a streamed body of any length, in addition to JSON if `body` is given. Null for none. */
  bytesIn: string | null
  /** Type of an answer of any length, in addition to JSON if `response` is given. Null for none. */
  bytesOut: string | null
  /** Schema of the JSON in a message of a `text/event-stream` answer. Null if there is no such answer. */
  message: z.ZodType | null
  /** Errors in addition to those that every operation has. */
  errors: readonly ErrorCode[]
}

/** Defines a row of the table, with defaults for omitted fields. */
export function define<const T extends Given>(given: T): Omit<Defaults, keyof T> & T {
  const defaults: Defaults = {
    details: null,
    badToken: 'refused',
    ofAllProjects: false,
    params: noParams,
    query: noQuery,
    body: null,
    status: 200,
    outcome: 'Success',
    laterStatus: null,
    laterResponse: null,
    maxBodyBytes: 1024 * 1024,
    transport: 'http',
    ofLink: false,
    bytesIn: null,
    bytesOut: null,
    message: null,
    errors: [],
  }
  return { ...defaults, ...given }
}

interface Defaults {
  details: null
  badToken: 'refused'
  ofAllProjects: false
  params: typeof noParams
  query: typeof noQuery
  body: null
  status: 200
  outcome: 'Success'
  laterStatus: null
  laterResponse: null
  maxBodyBytes: number
  transport: 'http'
  ofLink: false
  bytesIn: null
  bytesOut: null
  message: null
  errors: readonly ErrorCode[]
}

/** Returns true if a function cannot carry the operation, so that clients can get a ticket for it (docs/access.md). */
export function takesTicket({ transport, bytesIn, bytesOut }: Operation): boolean {
  return transport === 'websocket' || bytesIn !== null || bytesOut !== null
}

/** Returns true if the answer can have any length, as bytes or a stream of events. */
export function answersBytes({ bytesOut }: Operation): boolean {
  return bytesOut !== null
}

/** Returns true if a ticket counts as a token: the ticket of a request that a function cannot carry, or of a sign-in link. */
export function opensByTicket(operation: Operation): boolean {
  return operation.ofLink !== false || takesTicket(operation)
}

/** Returns true if the operation changes anything, including a command over a WebSocket, although that is a GET. */
export function isMutation({ method, transport }: Operation): boolean {
  return method !== 'GET' || transport === 'websocket'
}

type Given = Partial<Operation> &
  Pick<Operation, 'id' | 'method' | 'path' | 'owner' | 'summary' | 'permission' | 'response'>

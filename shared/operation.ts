import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './schemas/access.ts'
import { noParams, noQuery } from './schemas/common.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Who has what an operation is about, where several agents serve one API (docs/design/fleet-requests.md): the cell with the record of the
 * box or data volume `{name}`, or of the operation; each cell with something of the project, or of anybody; or whoever is asked.
 */
export type Owner = 'box' | 'volume' | 'operation' | 'project' | 'fleet' | 'any'

/** A row of the table that defines routing, validation, permissions, audit and the OpenAPI document. */
export interface Operation {
  id: string
  method: Method
  /** A template: `{param}` matches one whole segment. */
  path: string
  owner: Owner
  /** Verb and object, at most eight words, without a full stop. */
  summary: string
  /** Sentences that follow the summary in the documents; null: none. */
  details: string | null
  /** Null: no token is needed, though one may be given. `any`: a valid token with any permissions. */
  permission: Permission | 'any' | null
  /** True: only for tokens of all projects (`*`), since it concerns what projects share. */
  ofAllProjects: boolean
  /** Effect of a broken, expired or revoked token on an operation that needs none: `ignored` treats it as absent. */
  badToken: 'refused' | 'ignored'
  params: z.ZodType<Record<string, string>>
  query: z.ZodType<Record<string, unknown>>
  /** Null: a body is refused. */
  body: z.ZodType | null
  /** Null: the answer has no body. */
  response: z.ZodType | null
  /** The status of success. */
  status: number
  /** Description of the success in the OpenAPI document; fixed where the original specification names it. */
  outcome: string
  /** A second status of success: the effect is still under way (docs/api.md#waiting). */
  laterStatus: number | null
  /** Schema of the answer with that status; null: as for `status`. */
  laterResponse: z.ZodType | null
  maxBodyBytes: number
  /** `websocket`: a GET that is upgraded; a plain answer to it is an error. */
  transport: 'http' | 'websocket'
  /** Whether a sign-in link stands for a token here, and is used up by that or only read. */
  ofLink: 'used' | 'read' | false
  /** Type of a streamed body of any length, in addition to JSON if `body` is given; null: none. */
  bytesIn: string | null
  /** Type of an answer of any length, in addition to JSON if `response` is given; null: none. */
  bytesOut: string | null
  /** What a message of an answer of `text/event-stream` carries as JSON; null: there is no such answer. */
  message: z.ZodType | null
  /** Errors in addition to those that every operation has. */
  errors: readonly ErrorCode[]
}

/** Defines a row of the table, with defaults for the fields left out. */
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

/** Returns true if a function cannot carry the operation, so that a ticket may be issued for it (docs/access.md). */
export function takesTicket({ transport, bytesIn, bytesOut }: Operation): boolean {
  return transport === 'websocket' || bytesIn !== null || bytesOut !== null
}

/** Returns true if the answer may be of any length: bytes, or a stream of events. */
export function answersBytes({ bytesOut }: Operation): boolean {
  return bytesOut !== null
}

/** Returns true if a ticket stands for a token: of what a function cannot carry, or of a sign-in link. */
export function opensByTicket(operation: Operation): boolean {
  return operation.ofLink !== false || takesTicket(operation)
}

/** Returns true if the operation changes anything, as a command over a WebSocket does, though that is a GET. */
export function isMutation({ method, transport }: Operation): boolean {
  return method !== 'GET' || transport === 'websocket'
}

type Given = Partial<Operation> &
  Pick<Operation, 'id' | 'method' | 'path' | 'owner' | 'summary' | 'permission' | 'response'>

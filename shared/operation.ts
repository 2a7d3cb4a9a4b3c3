import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Permission } from './schemas/access.ts'
import { noParams, noQuery } from './schemas/common.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One row of the table from which routing, validation, permissions, audit and the OpenAPI document are read. */
export interface Operation {
  id: string
  method: Method
  /** A template: `{param}` stands for one whole segment. */
  path: string
  summary: string
  /** Null: no token is needed, though one may be given. `any`: a valid token of whatever permission. */
  permission: Permission | 'any' | null
  /** What a token that is broken, expired or revoked makes of a request that needs none: `ignored` is as if it had none. */
  badToken: 'refused' | 'ignored'
  params: z.ZodType<Record<string, string>>
  query: z.ZodType<Record<string, unknown>>
  /** Null: a body is refused. */
  body: z.ZodType | null
  /** Null: the answer has no body. */
  response: z.ZodType | null
  /** The status of success. */
  status: number
  /** What the OpenAPI document calls that; fixed where the original specification names it. */
  outcome: string
  /** A second status of success: the effect is not there yet (docs/api.md#waiting). */
  laterStatus: number | null
  /** What is answered with that status; null: the same as else. */
  laterResponse: z.ZodType | null
  maxBodyBytes: number
  /** `websocket`: a GET that becomes one; what it answers before that is an error. */
  transport: 'http' | 'websocket'
  /** The type of a body of any length that it takes as it comes, beside JSON if `body` is given; null: none. */
  bytesIn: string | null
  /** The type of an answer of any length, beside JSON if `response` is given; null: none. */
  bytesOut: string | null
  /** What it can answer beyond the errors every operation has. */
  errors: readonly ErrorCode[]
}

/** A row of the table, with what it leaves out. */
export function define<const T extends Given>(given: T): Omit<Defaults, keyof T> & T {
  const defaults: Defaults = {
    badToken: 'refused',
    params: noParams,
    query: noQuery,
    body: null,
    status: 200,
    outcome: 'Success',
    laterStatus: null,
    laterResponse: null,
    maxBodyBytes: 1024 * 1024,
    transport: 'http',
    bytesIn: null,
    bytesOut: null,
    errors: [],
  }
  return { ...defaults, ...given }
}

interface Defaults {
  badToken: 'refused'
  params: typeof noParams
  query: typeof noQuery
  body: null
  status: 200
  outcome: 'Success'
  laterStatus: null
  laterResponse: null
  maxBodyBytes: number
  transport: 'http'
  bytesIn: null
  bytesOut: null
  errors: readonly ErrorCode[]
}

/** Whether it is one that a function cannot carry, so that a ticket may be given for it (docs/access.md). */
export function takesTicket({ transport, bytesIn, bytesOut }: Operation): boolean {
  return transport === 'websocket' || bytesIn !== null || bytesOut !== null
}

/** Whether it changes anything, as a command over a WebSocket does, though it is a GET. */
export function isMutation({ method, transport }: Operation): boolean {
  return method !== 'GET' || transport === 'websocket'
}

type Given = Partial<Operation> & Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'permission' | 'response'>

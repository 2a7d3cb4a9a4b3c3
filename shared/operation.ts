import type * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import { noParams, noQuery } from './schemas/common.ts'
import type { Permission } from './schemas/system.ts'

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
  params: z.ZodType<Record<string, string>>
  query: z.ZodType<Record<string, unknown>>
  /** Null: a body is refused. */
  body: z.ZodType | null
  /** Null: the answer has no body. */
  response: z.ZodType | null
  /** The status of success. */
  status: number
  /** A second status of success: the effect is not there yet (api.md §1, Waiting). */
  laterStatus: number | null
  maxBodyBytes: number
  /** What it can answer beyond the errors every operation has. */
  errors: readonly ErrorCode[]
}

/** A row of the table, with what it leaves out. */
export function define<const T extends Given>(given: T): Omit<Defaults, keyof T> & T {
  const defaults: Defaults = {
    params: noParams,
    query: noQuery,
    body: null,
    status: 200,
    laterStatus: null,
    maxBodyBytes: 1024 * 1024,
    errors: [],
  }
  return { ...defaults, ...given }
}

interface Defaults {
  params: typeof noParams
  query: typeof noQuery
  body: null
  status: 200
  laterStatus: null
  maxBodyBytes: number
  errors: readonly ErrorCode[]
}

type Given = Partial<Operation> & Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'permission' | 'response'>

import * as z from 'zod'
import type { AuditRecord, EventRecord } from '../ports/store/events.ts'

/** Paths at which agents ask each other, on the channel. No operation of the API has such a path. */
export const PEER_PATHS = {
  bounds: '/cells/events/bounds',
  events: '/cells/events/read',
  tail: '/cells/events/tail',
  audit: '/cells/audit/read',
} as const

export type PeerPath = (typeof PEER_PATHS)[keyof typeof PEER_PATHS]

const number = z.int().min(0)
const projects = z.union([z.literal('*'), z.array(z.string())])
const scope = z.looseObject({ projects, shared: z.boolean(), admin: z.boolean() })

/** Bodies of the requests. Ignores fields of later versions. */
export const PEER_REQUESTS = {
  bounds: z.looseObject({ scope, since: number.nullable() }),
  events: z.looseObject({
    ...{ scope, types: z.array(z.string()), after: number, account: z.string() },
    limit: z.int().min(1).max(1000),
  }),
  /** `door`: the cell that asks. `after`: the last event that it has, null for none. */
  tail: z.looseObject({ door: z.string(), after: number.nullable() }),
  audit: z.looseObject({
    ...{ projects, project: z.string().nullable(), actor: z.string().nullable() },
    ...{ operation: z.string().nullable(), status: z.int().nullable(), before: number.nullable() },
    limit: z.int().min(1).max(1000),
    account: z.string().default(''),
  }),
}

const event = z.looseObject({
  number,
  audience: z.string(),
  record: z.custom<EventRecord>(isRecord),
})

/** Answers, which come from an agent of this or a neighbouring version. */
export const PEER_ANSWERS = {
  bounds: z.looseObject({ oldest: number, newest: number, begin: number, aloneThrough: number }),
  events: z.looseObject({ events: z.array(event), through: number, hasMore: z.boolean() }),
  audit: z.looseObject({
    records: z.array(z.looseObject({ number, record: z.custom<AuditRecord>(isRecord) })),
    next: number.nullable(),
  }),
}

/**
 * A line of a tail. The first line, and the first after a loss, has where it begins. Events follow in order. Empty lines say that there
 * are none.
 */
export const TAIL_LINE = z.union([event, z.looseObject({ after: number })])

/** Time between two lines of a tail at most. */
export const TAIL_QUIET_MS = 3_000

// The writer has checked the record itself.
function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'at' in value && typeof value.at === 'number'
}

import * as z from 'zod'
import {
  idSchema,
  integerQuery,
  nameSchema,
  pageFields,
  pageQuery,
  projectOrAllSchema,
  TEXTS,
  timestampSchema,
  waitSeconds,
} from './common.ts'

/** A cursor has a number for each cell of a fleet, as many as fit into the head of a request (32 KiB). */
const CURSOR_MAX = 16_384
/** Cells whose history is not in an answer. */
const missingCells = z.array(z.string()).optional()
/** Maximum number of types in one query. */
const TYPES_MAX = 64
const TYPE = /^[a-z_]{1,40}\.([a-z_]{1,40}|\*)$/

/** The path of the events of a project, or of all projects that the token can read. */
export const eventParams = z.strictObject({ project: projectOrAllSchema })

/** `GET P/events`. */
export const eventQuery = z.strictObject({
  since: z.string().max(CURSOR_MAX).optional().meta({
    description:
      'Cursor to start after: `next_cursor` of an earlier response, the `id` of a stream event, `now`, or a time such as `2026-01-31T00:00:00Z`. Default: from the oldest event kept.',
  }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for an event if none is available.'),
  max_results: integerQuery(1, 1000)
    .default(100)
    .meta({
      description: 'Maximum number of events in the response.',
      override: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    }),
  type: z
    .union([z.string().max(4096), z.array(z.string().max(128)).max(TYPES_MAX)])
    .transform((given) => [given].flat().flatMap((list) => list.split(',')))
    .refine((types) => types.length <= TYPES_MAX, `at most ${TYPES_MAX} types`)
    .refine((types) => types.every((type) => TYPE.test(type)), 'must be types such as box.created, or box.*')
    .optional()
    .meta({
      description: 'Event types such as `box.created`, or `box.*` for all box events. Comma separated or repeated.',
      override: { ...TEXTS, items: { type: 'string', pattern: TYPE.source, maxLength: 81 } },
    }),
})

/** A change of a resource. */
export const eventSchema = z
  .looseObject({
    id: idSchema,
    ts: timestampSchema,
    type: z.string().meta({ description: 'Dotted type. New types may be added.', examples: ['box.created'] }),
    project: nameSchema
      .nullable()
      .meta({ description: 'Project of the resource. Null for shared resources and the deployment.' }),
    resource: z.string().meta({ description: 'Path of the resource.' }),
    actor: z
      .looseObject({ id: idSchema, name: z.string() })
      .nullable()
      .meta({ description: 'Token that caused the event. Null if the service itself did.' }),
    request_id: z
      .string()
      .nullable()
      .meta({ description: 'Request that caused the event. Null if the service itself did.' }),
    data: z
      .record(z.string(), z.unknown())
      .meta({ description: 'Details that depend on the type. New fields may be added.' }),
  })
  .meta({ id: 'Event' })

/** A page of events, in the order of their commits. */
export const eventListSchema = z
  .looseObject({
    events: z.array(eventSchema),
    has_more: z.boolean().meta({ description: 'Whether more events are available now.' }),
    next_cursor: z.string().meta({ description: '`since` for the next request. Present even if there are no events.' }),
    missing_cells: missingCells.meta({
      description:
        'Cells of a fleet that cannot be reached now; absent if there are none. Their events appear on a later page, once the cells are reachable.',
    }),
  })
  .meta({ id: 'EventList' })

/** `GET /v1/audit`. */
export const auditQuery = pageQuery.extend({
  continuation_token: z
    .string()
    .max(CURSOR_MAX)
    .optional()
    .meta({ description: '`next_continuation_token` from the previous page.' }),
  project: nameSchema.optional(),
  actor: z.string().max(63).optional().meta({ description: 'Id or name of a token.' }),
  operation: z.string().max(63).optional().meta({ description: '`operationId` of an operation.' }),
  status: integerQuery(100, 599).optional(),
})

const auditEntrySchema = z
  .looseObject({
    ts: timestampSchema.meta({ description: 'When the response was sent.' }),
    operation: z
      .string()
      .nullable()
      .meta({ description: '`operationId` of the operation. Null if the request matched none.' }),
    method: z.string(),
    target: z.string().meta({ description: 'Path and query, without a ticket. For a WebSocket, without the query.' }),
    project: z.string().nullable().meta({ description: 'Project in the path. Null if there is none.' }),
    actor: idSchema
      .nullable()
      .meta({ description: 'Token that sent the request. Null if there was none, or an invalid one.' }),
    actor_name: z.string().nullable().meta({ description: 'Name of the token, or null.' }),
    client_address: z
      .string()
      .meta({ description: 'Network address of the client, or of the proxy in front of the service.' }),
    request_id: z.string(),
    duration_ms: z.int().meta({ description: 'Milliseconds until the response.' }),
    status: z.int().meta({ description: 'HTTP status of the response.' }),
    code: z.string().nullable().meta({ description: 'Error code if the request was refused. Null otherwise.' }),
    command: z.array(z.string()).nullable().optional().meta({
      description:
        'For `createExec`, `streamExec` and `openConsole`, the first 1,024 bytes of program and arguments, never variables or input. Null for other requests, for a console that joined a session, for a request refused before its command was read, and with `BOXYARD_AUDIT_COMMANDS=false`.',
    }),
    command_truncated: z.boolean().optional().meta({ description: 'Whether the end of `command` is missing.' }),
  })
  .meta({ id: 'AuditEntry' })

/** A page of the audit log, newest first. */
export const auditListSchema = z
  .looseObject({
    entries: z.array(auditEntrySchema),
    ...pageFields,
    missing_cells: missingCells.meta({
      description:
        'Cells of a fleet that could not be reached at the first page or this one; absent if there are none. This page and later ones omit their entries.',
    }),
  })
  .meta({ id: 'AuditList' })

export type EventsQuery = z.output<typeof eventQuery>
export type EventView = z.infer<typeof eventSchema>
export type AuditListQuery = z.output<typeof auditQuery>

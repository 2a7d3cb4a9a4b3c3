import * as z from 'zod'
import { idSchema, integerQuery, nameSchema, pageFields, pageQuery, timestampSchema } from './common.ts'

/** `GET /v1/audit`. */
export const auditQuery = pageQuery.extend({
  project: nameSchema.optional(),
  actor: z.string().max(63).optional().meta({ description: 'The id or the name of a token.' }),
  operation: z.string().max(63).optional().meta({ description: 'An `operationId`.' }),
  status: integerQuery(100, 599).optional(),
})

const auditEntrySchema = z
  .looseObject({
    ts: timestampSchema,
    operation: z.string().nullable(),
    method: z.string(),
    target: z.string(),
    project: z.string().nullable(),
    actor: idSchema.nullable().meta({ description: 'The token; null: none, or none that is good.' }),
    actor_name: z.string().nullable(),
    client_address: z.string(),
    request_id: z.string(),
    duration_ms: z.int(),
    status: z.int(),
    code: z.string().nullable().meta({ description: 'Of the error that it was refused with.' }),
  })
  .meta({ id: 'AuditEntry' })

/** A page of the audit log, newest first. */
export const auditListSchema = z
  .looseObject({ entries: z.array(auditEntrySchema), ...pageFields })
  .meta({ id: 'AuditList' })

export type AuditListQuery = z.output<typeof auditQuery>

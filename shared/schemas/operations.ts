import * as z from 'zod'
import { idSchema, timestampSchema, waitSeconds } from './common.ts'

/** A mutation that outlived its wait. */
export const operationSchema = z
  .looseObject({
    id: idSchema,
    kind: z.string().meta({ description: 'Such as `box.stop` or `backup.create`.' }),
    status: z.enum(['running', 'done', 'failed']),
    progress: z.number().nullable().meta({ description: 'From 0 to 1; null if unknown, and after its end.' }),
    resource: z.string().meta({ description: 'Path of the resource it works on.' }),
    error: z
      .looseObject({ code: z.string(), detail: z.string() })
      .nullable()
      .meta({ description: 'The problem with all its fields if it failed; else null.' }),
    created_at: timestampSchema,
    ended_at: timestampSchema.nullable().meta({ description: 'Null while it runs.' }),
  })
  .meta({ id: 'Operation' })

/** The path of one operation. */
export const operationParams = z.strictObject({ operation: idSchema })

/** The query of `GET /v1/operations/{id}`. */
export const operationQuery = z.strictObject({
  wait_seconds: waitSeconds(0, 'Seconds to wait for the end.'),
})

export type OperationResource = z.infer<typeof operationSchema>

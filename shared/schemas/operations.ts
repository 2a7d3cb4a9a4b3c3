import * as z from 'zod'
import { idSchema, timestampSchema, waitSeconds } from './common.ts'

/** A mutation that outlived its wait. */
export const operationSchema = z
  .looseObject({
    id: idSchema,
    kind: z.string().meta({ description: 'Kind of operation, such as `box.stop` or `backup.create`.' }),
    status: z.enum(['running', 'done', 'failed']),
    progress: z.number().nullable().meta({ description: 'Progress from 0 to 1. Null if unknown, and after the end.' }),
    resource: z.string().meta({ description: 'Path of the resource.' }),
    error: z
      .looseObject({ code: z.string(), detail: z.string() })
      .nullable()
      .meta({ description: 'The problem with all its fields if the operation failed. Null otherwise.' }),
    created_at: timestampSchema,
    ended_at: timestampSchema.nullable().meta({ description: 'When the operation ended. Null while it runs.' }),
  })
  .meta({ id: 'Operation' })

/** The path of one operation. */
export const operationParams = z.strictObject({ operation: idSchema })

/** The query of `GET /v1/operations/{id}`. */
export const operationQuery = z.strictObject({
  wait_seconds: waitSeconds(0, 'Seconds to wait for the operation to end.'),
})

export type OperationResource = z.infer<typeof operationSchema>

import * as z from 'zod'
import { nameSchema, timestampSchema } from './common.ts'

const bytes = z.number()
const measured = bytes.nullable().meta({ description: 'Null where it is missing, or was deleted meanwhile.' })
const sizes = { size_bytes: measured, unique_bytes: measured }
const room = z.looseObject({ total_bytes: bytes, used_bytes: bytes })
const owner = z.looseObject({
  project: nameSchema,
  name: nameSchema,
  ...sizes,
  snapshots: z.array(z.looseObject({ name: nameSchema, ...sizes })),
})

/** The last scrub of the pool, or the one under way. */
export const scrubSchema = z
  .looseObject({
    status: z.enum(['running', 'done', 'failed', 'interrupted']),
    started_at: timestampSchema,
    ended_at: timestampSchema.nullable(),
    checked_bytes: bytes,
    errors: z.number(),
  })
  .meta({ id: 'Scrub' })

/** `GET /v1/storage`: `unique_bytes` is what deleting that one alone would free. */
export const storageSchema = z
  .looseObject({
    pool: z.looseObject({
      total_bytes: bytes,
      used_bytes: bytes,
      available_bytes: bytes,
      data: room,
      metadata: room,
      device_errors: z.record(z.string(), z.number()),
    }),
    boxes: z.array(owner),
    volumes: z.array(owner),
    bases: z.array(z.looseObject({ project: nameSchema.nullable(), name: nameSchema, ...sizes })),
    orphans: z
      .array(z.looseObject({ subvolume: z.string(), ...sizes }))
      .meta({ description: 'Subvolumes that no record knows; nothing destroys them.' }),
    deleting: z.number().meta({ description: 'Subvolumes that are being destroyed.' }),
    scrub: scrubSchema.nullable(),
  })
  .meta({ id: 'Storage' })

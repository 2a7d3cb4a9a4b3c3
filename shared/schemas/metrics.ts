import * as z from 'zod'
import { nameSchema, timestampSchema } from './common.ts'

/** What a box uses (`GET B/metrics`), from the kernel's own counters at the call; what only a running box has is null. */
export const boxMetricsSchema = z
  .looseObject({
    box: nameSchema,
    at: timestampSchema,
    cpu: z.looseObject({
      seconds: z.number().nullable().meta({ description: 'Of all processors, since its start.' }),
      limit_cores: z.number(),
    }),
    memory: z.looseObject({
      used_bytes: z.int().nullable().meta({ description: 'With the caches of its files.' }),
      cache_bytes: z.int().nullable().meta({ description: 'Of these, what is given up once others want it.' }),
      limit_bytes: z.int(),
    }),
    pids: z.looseObject({ current: z.int().nullable(), limit: z.int() }),
    network: z
      .looseObject({
        received_bytes: z.int(),
        received_packets: z.int(),
        sent_bytes: z.int(),
        sent_packets: z.int(),
      })
      .nullable(),
    storage: z.looseObject({
      used_bytes: z.int().meta({ description: 'Written since it was made, compressed: what `storage_gb` limits.' }),
      limit_bytes: z.int(),
      unique_bytes: z.int().nullable().meta({ description: 'What deleting it would free.' }),
    }),
  })
  .meta({ id: 'BoxMetrics' })

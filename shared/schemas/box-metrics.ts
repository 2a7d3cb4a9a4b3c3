import * as z from 'zod'
import { nameSchema, timestampSchema } from './common.ts'

/** The usage of a box (`GET B/metrics`), from the kernel's own counters at the call; null for values that only a running box has. */
export const boxMetricsSchema = z
  .looseObject({
    box: nameSchema,
    at: timestampSchema.meta({ description: 'When it was measured.' }),
    cpu: z.looseObject({
      seconds: z.number().nullable().meta({
        description: 'Processor seconds since its start, on all cores; null also where the host does not count them.',
      }),
      limit_cores: z.number().meta({ description: 'Cores that it may use: `config.cpus`.' }),
    }),
    memory: z.looseObject({
      used_bytes: z.int().nullable().meta({ description: 'Memory in use, with the page cache of its files.' }),
      cache_bytes: z.int().nullable().meta({ description: 'Part of it that the kernel can reclaim.' }),
      limit_bytes: z.int().meta({ description: '`config.ram_mb` in bytes.' }),
    }),
    pids: z.looseObject({
      current: z.int().nullable().meta({ description: 'Processes and threads now.' }),
      limit: z.int().meta({ description: 'Most processes and threads: the limit `pids_per_box`.' }),
    }),
    network: z
      .looseObject({
        received_bytes: z.int().meta({ description: 'Received by the box.' }),
        received_packets: z.int(),
        sent_bytes: z.int().meta({ description: 'Sent by the box.' }),
        sent_packets: z.int(),
      })
      .nullable()
      .meta({
        description:
          'Counters of its interfaces except loopback, as the box sees them. They may not begin at 0: compare two readings.',
      }),
    storage: z.looseObject({
      used_bytes: z
        .int()
        .meta({ description: 'Compressed bytes written since its creation, which `storage_gb` limits.' }),
      limit_bytes: z.int().meta({ description: '`config.storage_gb` in bytes.' }),
      unique_bytes: z
        .int()
        .nullable()
        .meta({ description: 'Bytes that deleting it would free; null while a restore replaces its disk.' }),
    }),
  })
  .meta({
    id: 'BoxMetrics',
    description: 'Read from the kernel at the call. What only a running box has is null while it does not run.',
  })

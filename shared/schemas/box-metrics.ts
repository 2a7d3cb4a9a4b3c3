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
      used_bytes: z.int().meta({
        description:
          'Compressed bytes written to its disk since its creation or last restore, which `storage_gb` limits.',
      }),
      limit_bytes: z.int().meta({ description: '`config.storage_gb` in bytes.' }),
      unique_bytes: z
        .int()
        .nullable()
        .meta({ description: 'Bytes that deleting it would free; null while a restore replaces its disk.' }),
      project_stored_bytes: z.int().meta({
        description:
          'What the project of the box keeps in all, as `used.stored_bytes` of its quota: snapshots, and disks that restores replaced, included.',
      }),
    }),
  })
  .meta({
    id: 'BoxMetrics',
    description: 'Read from the kernel at the call. What only a running box has is null while it does not run.',
  })

const rate = z.int().min(0)

/** What a box used over the `step_seconds` before `at`. */
const usagePointSchema = z
  .looseObject({
    at: timestampSchema.meta({ description: 'End of the interval.' }),
    cpu_cores: z
      .number()
      .nullable()
      .meta({ description: 'Cores in use on average; null where the host does not count them.' }),
    memory_bytes: z.int().meta({
      description:
        'Memory in use, with the page cache of its files: of a minute at its end, of ten minutes on average, as are the next two.',
    }),
    cache_bytes: z.int().meta({ description: 'Part of it that the kernel can reclaim.' }),
    storage_bytes: z.int().nullable().meta({
      description:
        'Compressed bytes written since its creation, which `storage_gb` limits; null while a restore replaces its disk.',
    }),
    received_bytes_per_second: rate.meta({ description: 'Received by the box, on average.' }),
    sent_bytes_per_second: rate.meta({ description: 'Sent by the box, on average.' }),
  })
  .meta({ id: 'BoxMetricsPoint', description: 'What a box used over an interval.' })

/** `GET B/metrics/history`. */
export const boxMetricsHistorySchema = z
  .looseObject({
    box: nameSchema,
    step_seconds: z.int().meta({ description: 'Length of the intervals: 60 or 600.' }),
    points: z.array(usagePointSchema).meta({
      description:
        'Oldest first. There is none for an interval in which the box did not run, or the service did not look: a chart has a gap there.',
    }),
  })
  .meta({
    id: 'BoxMetricsHistory',
    description: 'What a box has used. A fork, and a box of the same name that was made later, begin without any.',
  })

/** The query of `GET B/metrics/history`. */
export const boxMetricsHistoryQuery = z.strictObject({
  step_seconds: z
    .enum(['60', '600'], { error: 'must be 60 or 600' })
    .default('60')
    .transform((text) => (text === '60' ? 60 : 600))
    .meta({
      description: 'Length of the intervals: 60 for the last two hours, 600 for the last 24.',
      override: { type: 'integer', enum: [60, 600], default: 60 },
    }),
})

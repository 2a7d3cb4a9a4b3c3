import * as z from 'zod'
import { nameSchema, timestampSchema } from './common.ts'

/** The usage of a box (`GET B/metrics`), from the kernel's own counters at the call. Null for values that only a running box has. */
export const boxMetricsSchema = z
  .looseObject({
    box: nameSchema,
    at: timestampSchema.meta({ description: 'Time of the measurement.' }),
    cpu: z.looseObject({
      seconds: z.number().nullable().meta({
        description:
          'CPU seconds used since the start of the box, over all cores. Null if the host does not count them.',
      }),
      limit_cores: z.number().meta({ description: 'Number of cores the box can use, from `config.cpus`.' }),
    }),
    memory: z.looseObject({
      used_bytes: z
        .int()
        .nullable()
        .meta({ description: 'Memory in use, in bytes, including the page cache of its files.' }),
      cache_bytes: z
        .int()
        .nullable()
        .meta({ description: 'Part of the used memory that the kernel can reclaim, in bytes.' }),
      limit_bytes: z.int().meta({ description: '`config.ram_mb` in bytes.' }),
    }),
    pids: z.looseObject({
      current: z.int().nullable().meta({ description: 'Current number of processes and threads.' }),
      limit: z.int().meta({ description: 'Maximum number of processes and threads, from the limit `pids_per_box`.' }),
    }),
    network: z
      .looseObject({
        received_bytes: z.int().meta({ description: 'Bytes the box received.' }),
        received_packets: z.int(),
        sent_bytes: z.int().meta({ description: 'Bytes the box sent.' }),
        sent_packets: z.int(),
      })
      .nullable()
      .meta({
        description:
          'Counters of all interfaces except loopback, as the box sees them. They may not start at 0, so compare two readings.',
      }),
    storage: z.looseObject({
      used_bytes: z.int().meta({
        description:
          'Compressed bytes written to the disk since creation or the last restore. `storage_gb` limits them.',
      }),
      limit_bytes: z.int().meta({ description: '`config.storage_gb` in bytes.' }),
      unique_bytes: z
        .int()
        .nullable()
        .meta({ description: 'Bytes that deleting the box would free. Null while a restore replaces its disk.' }),
      project_stored_bytes: z.int().meta({
        description:
          'Total bytes the project stores, equal to `used.stored_bytes` of its quota. Includes snapshots, and disks that restores replaced.',
      }),
    }),
  })
  .meta({
    id: 'BoxMetrics',
    description:
      'Kernel counters at the time of the request. Values that only a running box has are null while the box does not run.',
  })

const rate = z.int().min(0)

/** Usage of a box over the `step_seconds` before `at`. */
const usagePointSchema = z
  .looseObject({
    at: timestampSchema.meta({ description: 'End of the interval.' }),
    cpu_cores: z
      .number()
      .nullable()
      .meta({ description: 'Average number of cores in use. Null if the host does not count them.' }),
    memory_bytes: z.int().meta({
      description:
        'Memory in use, in bytes, including the page cache. For a 60-second interval, this and the next two values are taken at its end; for 600 seconds, they are averages.',
    }),
    cache_bytes: z.int().meta({ description: 'Part of that memory that the kernel can reclaim, in bytes.' }),
    storage_bytes: z.int().nullable().meta({
      description:
        'Compressed bytes written since creation. `storage_gb` limits them; null while a restore replaces the disk.',
    }),
    received_bytes_per_second: rate.meta({ description: 'Average bytes per second received by the box.' }),
    sent_bytes_per_second: rate.meta({ description: 'Average bytes per second sent by the box.' }),
  })
  .meta({ id: 'BoxMetricsPoint', description: 'Usage of a box over an interval.' })

/** `GET B/metrics/history`. */
export const boxMetricsHistorySchema = z
  .looseObject({
    box: nameSchema,
    step_seconds: z.int().meta({ description: 'Length of each interval in seconds, 60 or 600.' }),
    points: z.array(usagePointSchema).meta({
      description:
        'Oldest first. Intervals in which the box did not run, or the service did not measure, have no point.',
    }),
  })
  .meta({
    id: 'BoxMetricsHistory',
    description: 'Usage history of a box. A fork, and a new box with the same name, start without history.',
  })

/** The query of `GET B/metrics/history`. */
export const boxMetricsHistoryQuery = z.strictObject({
  step_seconds: z
    .enum(['60', '600'], { error: 'must be 60 or 600' })
    .default('60')
    .transform((text) => (text === '60' ? 60 : 600))
    .meta({
      description: 'Length of each interval in seconds. 60 covers the last two hours, 600 the last 24.',
      override: { type: 'integer', enum: [60, 600], default: 60 },
    }),
})

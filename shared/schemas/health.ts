import * as z from 'zod'
import { quotaSchema } from './access.ts'
import { boxConfigSchema } from './boxes.ts'
import { nameSchema, timestampSchema } from './common.ts'
import { limitsSchema } from './limits.ts'
import { sharesSchema } from './shares.ts'

const usageFields = {
  total_bytes: z.int(),
  used_bytes: z.int(),
  available_bytes: z.int(),
  used_percent: z.number().meta({ description: 'From 0 to 100.' }),
}
const mountSchema = z.looseObject({
  path: z.string().meta({ description: 'The data directory of the deployment.' }),
  ...usageFields,
})

const healthFaultSchema = z.looseObject({
  code: z.string().meta({ description: 'Code of the problem, such as `disk_full`.' }),
  evidence: z.string().meta({ description: 'What was found.' }),
  remedy: z.string().meta({ description: 'Remedy, in one sentence.' }),
})

/** A node of the cluster that boxes run on. */
export const nodeSchema = z.looseObject({
  name: z.string(),
  cpu_allocatable: z.string().meta({ description: 'Kubernetes quantity, unconverted, such as `1930m`.' }),
  cpu_capacity: z.string().meta({ description: 'Kubernetes quantity, unconverted, such as `2`.' }),
  memory_allocatable_bytes: z.int(),
  memory_capacity_bytes: z.int(),
  pods_allocatable: z.int(),
  pods_capacity: z.int(),
  pods_running: z.int().meta({ description: 'Running pods of the node.' }),
  boxes: z.int().meta({ description: 'Running pods that are boxes of this deployment.' }),
  ready: z.boolean().meta({ description: 'Whether its condition `Ready` is true.' }),
})

/** `GET /healthz`; without a good token only `status`, `api` and an empty `errors`. */
export const healthSchema = z
  .looseObject({
    status: z.enum(['ok', 'degraded', 'unavailable']).meta({
      description:
        '`degraded`: it serves, with problems; `unavailable` (HTTP 503): the agent is stopping, cannot be reached, or cannot read its database.',
    }),
    api: z.looseObject({ api_version: z.string().meta({ description: 'Version of the API in its paths: `v1`.' }) }),
    errors: z
      .array(z.string())
      .meta({ description: 'One sentence for each problem, with evidence and remedy. Empty without a valid token.' }),
    problems: z.array(healthFaultSchema).optional().meta({ description: 'The same problems as objects.' }),
    boxes: z
      .looseObject({
        pending: z.int().meta({ description: 'Being created, started, stopped or restored.' }),
        running: z.int(),
        stopped: z.int(),
        unknown: z.int().meta({ description: 'The runtime does not answer for them, or cannot start them again.' }),
        total: z.int(),
      })
      .optional()
      .meta({
        description:
          'Number of boxes of the deployment, by `status`. Absent if they cannot be counted, and for a token that is not for all projects.',
      }),
    host: z
      .looseObject({
        cpu: z.looseObject({
          cores: z.int().meta({ description: 'Processor cores that the agent can use.' }),
          load_avg_1: z.number().meta({ description: "The kernel's load average over 1 minute." }),
          load_avg_5: z.number().meta({ description: 'Over 5 minutes.' }),
          load_avg_15: z.number().meta({ description: 'Over 15 minutes.' }),
        }),
        memory: z.looseObject({
          ...usageFields,
          used_bytes: z.int().meta({ description: '`total_bytes` minus `available_bytes`.' }),
          available_bytes: z
            .int()
            .meta({ description: '`MemAvailable` of the kernel: memory that can be used without swapping.' }),
        }),
        storage: mountSchema.optional().meta({
          description:
            'Disk that holds the data directory. Absent if it cannot be read, and for a token that is not for all projects.',
        }),
        storage_mounts: z.array(mountSchema).meta({
          description:
            'The pool of boxes, volumes, snapshots and bases, with what it can still grow by; empty if it cannot be read, and for a token that is not for all projects.',
        }),
      })
      .optional()
      .meta({ description: 'The host of the agent, measured at the call.' }),
    kubernetes: z
      .looseObject({
        nodes: z
          .array(nodeSchema)
          .meta({ description: 'Nodes of the cluster; empty without a cluster, and while they cannot be read.' }),
        total_pods_capacity: z.int().meta({ description: 'Sum over `nodes`.' }),
        total_pods_running: z.int().meta({ description: 'Sum over `nodes`.' }),
      })
      .optional(),
    namespace: z
      .string()
      .optional()
      .meta({ description: 'Kubernetes namespace of the boxes; empty without a cluster.' }),
  })
  .meta({
    id: 'Health',
    description:
      'Fields that may be absent are left out without a valid token and, except for `problems`, while the agent cannot be reached.',
  })

/** Drivers that `GET /version` and `GET /v1/config` name. */
const driverFields = {
  runtime: z.string().meta({ description: 'What runs boxes: `crun`, or `kubernetes` in a cluster.' }),
  filesystem: z.string().meta({ description: 'Filesystem of the pool: `btrfs`.' }),
}

/** `GET /version`. */
export const versionSchema = z
  .looseObject({
    version: z.string(),
    api_version: z.literal('v1'),
    commit: z.string().nullable().meta({
      description: 'Git commit of the checkout that the agent runs from; null if it cannot be read from `.git`.',
    }),
    ...driverFields,
  })
  .meta({ id: 'Version' })

/** `GET /v1/config`: drivers, defaults, features and every limit in force. */
export const configSchema = z
  .looseObject({
    drivers: z
      .looseObject({
        ...driverFields,
        store: z.string().meta({ description: 'Database of the records: `sqlite`.' }),
        backups: z.string().meta({ description: 'Where backups are kept: `folder` or `s3`.' }),
      })
      .meta({ description: 'Implementations that the deployment uses.' }),
    region: z
      .string()
      .meta({ description: 'Region of the deployment, the only one that `config.region` of a box may name.' }),
    bases: z.array(z.string()).meta({ description: 'Names of the bases that all projects share.' }),
    defaults: z
      .looseObject({
        base: z.string(),
        config: boxConfigSchema,
        termination_grace_period_seconds: z.int().meta({ description: 'Seconds from SIGTERM to SIGKILL of a stop.' }),
        volume_size_gb: z.number().meta({ description: 'GiB of a new data volume.' }),
        quota: quotaSchema.shape.allowed.meta({
          description: 'Of projects whose quota was never set; null: unlimited.',
        }),
      })
      .meta({
        description:
          'Used for what a request leaves out; a fork, or a copy of a volume, takes the values of its source instead.',
      }),
    nesting: z.boolean().meta({ description: 'Whether boxes may have `config.nesting`.' }),
    features: z.array(z.string()).meta({ description: 'Areas of the API that this deployment serves.' }),
    limits: limitsSchema,
    shares: sharesSchema,
  })
  .meta({ id: 'Config' })

/** The explanation of one error code; `ProblemType` of problem-types.ts. */
export const problemTypeSchema = z
  .looseObject({
    type: z.string().meta({ description: 'The `type` of problems of this code: a path of the origin that answered.' }),
    code: z.string(),
    title: z.string(),
    status: z.int().meta({ description: 'HTTP status of the answers with this code.' }),
    retryable: z.boolean().meta({ description: 'Whether the same request may succeed later.' }),
    meaning: z.string(),
    remedy: z.string().meta({ description: 'Remedy for clients.' }),
    catalogue: z.string().meta({ description: 'Path of the list of all codes.' }),
  })
  .meta({ id: 'ProblemType' })

/** `GET /problems`. */
export const problemTypeListSchema = z
  .looseObject({ problems: z.array(problemTypeSchema) })
  .meta({ id: 'ProblemTypeList' })

/** The path of one error code; an unknown code is not found. */
export const problemTypeParams = z.strictObject({ code: z.string().max(200) })

const bytesSchema = z.number()
const sizes = {
  size_bytes: bytesSchema.nullable().meta({
    description:
      'Compressed size on the disk of the data that it refers to, shared or not; null if it is missing, or was deleted meanwhile.',
  }),
  unique_bytes: bytesSchema
    .nullable()
    .meta({ description: 'Part of `size_bytes` that nothing else refers to: what deleting it alone would free.' }),
}
const room = z.looseObject({
  total_bytes: bytesSchema.meta({ description: 'Space that btrfs has allocated for this.' }),
  used_bytes: bytesSchema.meta({ description: 'Part of it that is in use.' }),
})
const owner = z.looseObject({
  project: nameSchema,
  name: nameSchema,
  ...sizes,
  snapshots: z.array(z.looseObject({ name: nameSchema, ...sizes })),
})

/** The last scrub of the pool, or the one under way. */
export const scrubSchema = z
  .looseObject({
    status: z
      .enum(['running', 'done', 'failed', 'interrupted'])
      .meta({ description: '`failed`: it could not be carried out; `interrupted`: the agent ended meanwhile.' }),
    started_at: timestampSchema,
    ended_at: timestampSchema
      .nullable()
      .meta({ description: 'Null while it runs, and if the agent crashed meanwhile.' }),
    checked_bytes: bytesSchema.meta({
      description: 'Bytes of data and metadata read and checked so far; valid for `running` and `done`.',
    }),
    errors: z.number().meta({
      description:
        'Errors found so far: failed reads, wrong checksums, damaged metadata; valid for `running` and `done`.',
    }),
  })
  .meta({ id: 'Scrub' })

const poolSchema = z.looseObject({
  total_bytes: bytesSchema.meta({ description: 'Size, with what the pool can still grow by.' }),
  used_bytes: bytesSchema,
  available_bytes: bytesSchema.meta({ description: 'Free space, with what the pool can still grow by.' }),
  data: room.meta({ description: 'btrfs data: contents of files.' }),
  metadata: room.meta({ description: 'btrfs metadata: names, attributes, small files.' }),
  device_errors: z.record(z.string(), z.number()).meta({
    description:
      'Errors of the disk since the pool was made, or since the last scrub without errors: `writes`, `reads`, `flushes`, `corruptions` (wrong checksum), `generations` (older content than was written).',
  }),
})

/** `GET /v1/storage`: `unique_bytes` is the space that deleting that one alone would free. */
export const storageSchema = z
  .looseObject({
    pool: poolSchema.nullable().meta({ description: 'Null for a token that is not for all projects.' }),
    boxes: z.array(owner).meta({ description: 'Those of the projects that the token may read.' }),
    volumes: z.array(owner).meta({ description: 'Those of the projects that the token may read.' }),
    bases: z
      .array(
        z.looseObject({
          project: nameSchema.nullable().meta({ description: 'Project that owns it; null for a shared base.' }),
          name: nameSchema,
          ...sizes,
        }),
      )
      .meta({ description: 'Those of the projects that the token may read, and shared ones.' }),
    projects: z
      .array(
        z.looseObject({
          project: nameSchema,
          stored_bytes: bytesSchema.meta({ description: 'As `used.stored_bytes` of its quota.' }),
        }),
      )
      .meta({ description: 'What each project keeps in all, of those that the token may read.' }),
    orphans: z
      .array(z.looseObject({ subvolume: z.string().meta({ description: 'Its name in the pool.' }), ...sizes }))
      .meta({
        description: 'Subvolumes without a record; they are kept. Empty for a token that is not for all projects.',
      }),
    deleting: z.number().nullable().meta({
      description:
        'Subvolumes that wait to be destroyed; copies of boxes in which previews run are counted too. Null for a token that is not for all projects.',
    }),
    scrub: scrubSchema.nullable().meta({
      description:
        'The scrub that runs, else the last one; null if there was none, and for a token that is not for all projects.',
    }),
    cells: z
      .array(
        z.looseObject({
          cell: z.string().meta({ description: 'Number of the cell.' }),
          pool: poolSchema,
          deleting: z.number(),
          scrub: scrubSchema.nullable(),
        }),
      )
      .optional()
      .meta({
        description:
          'In a fleet, the same of each cell, whose sums are above; absent without one, and for a token that is not for all projects.',
      }),
  })
  .meta({ id: 'Storage' })

export type ScrubResource = z.infer<typeof scrubSchema>
export type StorageResource = z.infer<typeof storageSchema>
export type Health = z.infer<typeof healthSchema>
export type HealthFault = z.infer<typeof healthFaultSchema>

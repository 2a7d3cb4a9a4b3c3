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
  used_percent: z.number().meta({ description: 'Percentage in use, 0–100.' }),
}
const mountSchema = z.looseObject({
  path: z.string().meta({ description: 'Data directory of the deployment.' }),
  ...usageFields,
})

const healthFaultSchema = z.looseObject({
  code: z.string().meta({ description: 'Code of the problem, such as `disk_full`.' }),
  evidence: z.string().meta({ description: 'Findings of the check.' }),
  remedy: z.string().meta({ description: 'How to fix it.' }),
})

/** A node of the cluster that boxes run on. */
export const nodeSchema = z.looseObject({
  name: z.string(),
  cpu_allocatable: z.string().meta({ description: 'Kubernetes quantity as reported, such as `1930m`.' }),
  cpu_capacity: z.string().meta({ description: 'Kubernetes quantity as reported, such as `2`.' }),
  memory_allocatable_bytes: z.int(),
  memory_capacity_bytes: z.int(),
  pods_allocatable: z.int(),
  pods_capacity: z.int(),
  pods_running: z.int().meta({ description: 'Running pods on the node.' }),
  boxes: z.int().meta({ description: 'Running pods on the node that are boxes of this deployment.' }),
  ready: z.boolean().meta({ description: 'Whether its `Ready` condition is true.' }),
})

/** `GET /healthz`. Without a valid token it has only `status`, `api` and an empty `errors`. */
export const healthSchema = z
  .looseObject({
    status: z.enum(['ok', 'degraded', 'unavailable']).meta({
      description:
        '`degraded`: it serves requests, with problems. `unavailable` (HTTP 503): the agent is stopping, cannot be reached, or cannot read its database.',
    }),
    api: z.looseObject({ api_version: z.string().meta({ description: 'API version in the paths, `v1`.' }) }),
    errors: z
      .array(z.string())
      .meta({ description: 'One line per problem, with evidence and remedy. Empty without a valid token.' }),
    problems: z.array(healthFaultSchema).optional().meta({ description: 'The same problems as objects.' }),
    boxes: z
      .looseObject({
        pending: z.int().meta({ description: 'Boxes being created, started, stopped or restored.' }),
        running: z.int(),
        stopped: z.int(),
        unknown: z
          .int()
          .meta({ description: 'Boxes for which the runtime does not answer, or that it cannot restart.' }),
        total: z.int(),
      })
      .optional()
      .meta({
        description:
          'Number of boxes of the deployment, by `status`. Absent if they cannot be counted, and for a token that does not cover all projects.',
      }),
    host: z
      .looseObject({
        cpu: z.looseObject({
          cores: z.int().meta({ description: 'CPU cores the agent can use.' }),
          load_avg_1: z.number().meta({ description: 'Load average of the kernel over 1 minute.' }),
          load_avg_5: z.number().meta({ description: 'Load average over 5 minutes.' }),
          load_avg_15: z.number().meta({ description: 'Load average over 15 minutes.' }),
        }),
        memory: z.looseObject({
          ...usageFields,
          used_bytes: z.int().meta({ description: '`total_bytes` minus `available_bytes`.' }),
          available_bytes: z
            .int()
            .meta({ description: '`MemAvailable` of the kernel, in bytes: memory available without swapping.' }),
        }),
        storage: mountSchema.optional().meta({
          description:
            'Disk with the data directory. Absent if it cannot be read, and for a token that does not cover all projects.',
        }),
        storage_mounts: z.array(mountSchema).meta({
          description:
            'Pool of boxes, volumes, snapshots and bases, including the space it can still grow by. Empty if it cannot be read, and for a token that does not cover all projects.',
        }),
      })
      .optional()
      .meta({ description: 'Host of the agent, measured at the time of the request.' }),
    kubernetes: z
      .looseObject({
        nodes: z
          .array(nodeSchema)
          .meta({ description: 'Nodes of the cluster. Empty without a cluster, and while they cannot be read.' }),
        total_pods_capacity: z.int().meta({ description: 'Sum over `nodes`.' }),
        total_pods_running: z.int().meta({ description: 'Sum over `nodes`.' }),
      })
      .optional(),
    namespace: z
      .string()
      .optional()
      .meta({ description: 'Kubernetes namespace of the boxes. Empty without a cluster.' }),
  })
  .meta({
    id: 'Health',
    description:
      'Without a valid token, optional fields are absent. While the agent cannot be reached, only `problems` of them is present.',
  })

/** Drivers that `GET /version` and `GET /v1/config` name. */
const driverFields = {
  runtime: z.string().meta({ description: 'Runtime for boxes: `crun`, or `kubernetes` in a cluster.' }),
  filesystem: z.string().meta({ description: 'Filesystem of the pool: `btrfs`.' }),
}

/** `GET /version`. */
export const versionSchema = z
  .looseObject({
    version: z.string(),
    api_version: z.literal('v1'),
    commit: z.string().nullable().meta({
      description: 'Git commit of the checkout that the agent runs from. Null if `.git` cannot be read.',
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
        store: z.string().meta({ description: 'Database for records: `sqlite`.' }),
        backups: z.string().meta({ description: 'Backup store: `folder` or `s3`.' }),
      })
      .meta({ description: 'Implementations in use.' }),
    region: z
      .string()
      .meta({ description: 'Region of the deployment, and the only allowed `config.region` of a box.' }),
    bases: z.array(z.string()).meta({ description: 'Names of the shared bases.' }),
    defaults: z
      .looseObject({
        base: z.string(),
        config: boxConfigSchema,
        termination_grace_period_seconds: z
          .int()
          .meta({ description: 'Seconds between SIGTERM and SIGKILL when a box stops.' }),
        volume_size_gb: z.number().meta({ description: 'Size of a new data volume, in GiB.' }),
        quota: quotaSchema.shape.allowed.meta({
          description: 'Quota of projects whose quota was never set. Null for unlimited.',
        }),
      })
      .meta({
        description:
          'Values for fields that a request omits. A fork or a copy of a volume takes them from its source instead.',
      }),
    nesting: z.boolean().meta({ description: 'Whether boxes can set `config.nesting`.' }),
    features: z.array(z.string()).meta({ description: 'Areas of the API that this deployment serves.' }),
    limits: limitsSchema,
    shares: sharesSchema,
  })
  .meta({ id: 'Config' })

const bytesSchema = z.number()
const sizes = {
  size_bytes: bytesSchema.nullable().meta({
    description:
      'Compressed size on disk of all its data, shared or not, in bytes. Null if it is missing, or was deleted during the request.',
  }),
  unique_bytes: bytesSchema
    .nullable()
    .meta({ description: 'Bytes of `size_bytes` that nothing else shares. Deleting only this resource frees them.' }),
}
const room = z.looseObject({
  total_bytes: bytesSchema.meta({ description: 'Bytes that btrfs has allocated for this kind of data.' }),
  used_bytes: bytesSchema.meta({ description: 'Bytes in use.' }),
})
const owner = z.looseObject({
  project: nameSchema,
  name: nameSchema,
  ...sizes,
  snapshots: z.array(z.looseObject({ name: nameSchema, ...sizes })),
})

/** The last or current scrub of the pool. */
export const scrubSchema = z
  .looseObject({
    status: z
      .enum(['running', 'done', 'failed', 'interrupted'])
      .meta({ description: '`failed`: the scrub could not run. `interrupted`: the agent ended during the scrub.' }),
    started_at: timestampSchema,
    ended_at: timestampSchema
      .nullable()
      .meta({ description: 'When the scrub ended. Null while it runs, and if the agent crashed during it.' }),
    checked_bytes: bytesSchema.meta({
      description: 'Bytes of data and metadata checked so far. Valid for `running` and `done`.',
    }),
    errors: z.number().meta({
      description:
        'Errors found so far: failed reads, wrong checksums, damaged metadata. Valid for `running` and `done`.',
    }),
  })
  .meta({ id: 'Scrub' })

const poolSchema = z.looseObject({
  total_bytes: bytesSchema.meta({ description: 'Size in bytes, including the space the pool can still grow by.' }),
  used_bytes: bytesSchema,
  available_bytes: bytesSchema.meta({ description: 'Free bytes, including the space the pool can still grow by.' }),
  data: room.meta({ description: 'File contents (btrfs data).' }),
  metadata: room.meta({ description: 'Names, attributes and small files (btrfs metadata).' }),
  device_errors: z.record(z.string(), z.number()).meta({
    description:
      'Disk errors since the pool was created or the last clean scrub. Keys: `writes`, `reads`, `flushes`, `corruptions` (wrong checksum) and `generations` (older content than was written).',
  }),
})

/** `GET /v1/storage`. `unique_bytes` is the space that deleting only that resource would free. */
export const storageSchema = z
  .looseObject({
    pool: poolSchema.nullable().meta({ description: 'Null for a token that does not cover all projects.' }),
    boxes: z.array(owner).meta({ description: 'Boxes of the projects the token can read.' }),
    volumes: z.array(owner).meta({ description: 'Data volumes of the projects the token can read.' }),
    bases: z
      .array(
        z.looseObject({
          project: nameSchema.nullable().meta({ description: 'Project that owns the base. Null for a shared base.' }),
          name: nameSchema,
          ...sizes,
        }),
      )
      .meta({ description: 'Bases of the projects the token can read, and shared bases.' }),
    projects: z
      .array(
        z.looseObject({
          project: nameSchema,
          stored_bytes: bytesSchema.meta({ description: 'Same as `used.stored_bytes` of its quota.' }),
        }),
      )
      .meta({ description: 'Total storage of each project the token can read.' }),
    orphans: z
      .array(
        z.looseObject({ subvolume: z.string().meta({ description: 'Name of the subvolume in the pool.' }), ...sizes }),
      )
      .meta({
        description:
          'Subvolumes without a record, which the service keeps. Empty for a token that does not cover all projects.',
      }),
    deleting: z.number().nullable().meta({
      description:
        'Subvolumes that await deletion, including box copies in which previews run. Null for a token that does not cover all projects.',
    }),
    scrub: scrubSchema.nullable().meta({
      description:
        'The running scrub, or else the last one. Null if there was none, and for a token that does not cover all projects.',
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
          'The same values for each cell of a fleet; the fields above are the sums. Absent without a fleet, and for a token that does not cover all projects.',
      }),
  })
  .meta({ id: 'Storage' })

export type ScrubResource = z.infer<typeof scrubSchema>
export type StorageResource = z.infer<typeof storageSchema>
export type Health = z.infer<typeof healthSchema>
export type HealthFault = z.infer<typeof healthFaultSchema>

import * as z from 'zod'
import { boxConfigSchema } from './boxes.ts'
import { nameSchema, timestampSchema } from './common.ts'
import { limitsSchema } from './limits.ts'

const usageFields = {
  total_bytes: z.int(),
  used_bytes: z.int(),
  available_bytes: z.int(),
  used_percent: z.number(),
}
const mountSchema = z.looseObject({ path: z.string(), ...usageFields })

const healthFaultSchema = z.looseObject({
  code: z.string(),
  evidence: z.string(),
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
  ready: z.boolean(),
})

/** `GET /healthz`; without a good token only `status`, `api` and an empty `errors`. */
export const healthSchema = z
  .looseObject({
    status: z.enum(['ok', 'degraded', 'unavailable']),
    api: z.looseObject({ api_version: z.string() }),
    errors: z
      .array(z.string())
      .meta({ description: 'One sentence for each problem, with evidence and remedy. Empty without a valid token.' }),
    problems: z.array(healthFaultSchema).optional().meta({ description: 'The same problems as objects.' }),
    boxes: z
      .looseObject({
        pending: z.int(),
        running: z.int(),
        stopped: z.int(),
        unknown: z.int(),
        total: z.int(),
      })
      .optional(),
    host: z
      .looseObject({
        cpu: z.looseObject({
          cores: z.int(),
          load_avg_1: z.number(),
          load_avg_5: z.number(),
          load_avg_15: z.number(),
        }),
        memory: z.looseObject(usageFields),
        storage: mountSchema.optional(),
        storage_mounts: z.array(mountSchema),
      })
      .optional(),
    kubernetes: z
      .looseObject({
        nodes: z.array(nodeSchema),
        total_pods_capacity: z.int(),
        total_pods_running: z.int(),
      })
      .optional(),
    namespace: z.string().optional(),
  })
  .meta({ id: 'Health' })

/** `GET /version`. */
export const versionSchema = z
  .looseObject({
    version: z.string(),
    api_version: z.literal('v1'),
    commit: z.string().nullable(),
    runtime: z.string(),
    filesystem: z.string(),
  })
  .meta({ id: 'Version' })

/** `GET /v1/config`: drivers, defaults, features and every limit in force. */
export const configSchema = z
  .looseObject({
    drivers: z.looseObject({ runtime: z.string(), filesystem: z.string(), store: z.string(), backups: z.string() }),
    region: z.string(),
    bases: z.array(z.string()),
    defaults: z.looseObject({
      base: z.string(),
      config: boxConfigSchema,
      termination_grace_period_seconds: z.int(),
      volume_size_gb: z.number(),
    }),
    features: z.array(z.string()).meta({ description: 'Areas of the API that this deployment serves.' }),
    limits: limitsSchema,
  })
  .meta({ id: 'Config' })

/** The explanation of one error code; `ProblemType` of problem-types.ts. */
export const problemTypeSchema = z
  .looseObject({
    type: z.string().meta({ description: 'The `type` of problems of this code: a path of the origin that answered.' }),
    code: z.string(),
    title: z.string(),
    status: z.int(),
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

/** `GET /v1/storage`: `unique_bytes` is the space that deleting that one alone would free. */
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
      .meta({ description: 'Subvolumes without a record; they are kept.' }),
    deleting: z.number().meta({ description: 'Subvolumes that are being destroyed.' }),
    scrub: scrubSchema.nullable(),
  })
  .meta({ id: 'Storage' })

export type Health = z.infer<typeof healthSchema>
export type HealthFault = z.infer<typeof healthFaultSchema>

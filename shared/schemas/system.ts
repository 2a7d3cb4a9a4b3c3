import * as z from 'zod'
import { boxConfigSchema } from './boxes.ts'
import { idSchema, nameSchema, pageFields, timestampSchema, waitSeconds } from './common.ts'
import { limitsSchema } from './limits.ts'

const usageFields = {
  total_bytes: z.int(),
  used_bytes: z.int(),
  available_bytes: z.int(),
  used_percent: z.number(),
}
const storageSchema = z.looseObject({ path: z.string(), ...usageFields })

const healthFaultSchema = z.looseObject({
  code: z.string(),
  evidence: z.string(),
  remedy: z.string().meta({ description: 'How to mend it, in one sentence.' }),
})

/** A node of the cluster that boxes run on. */
export const nodeSchema = z.looseObject({
  name: z.string(),
  cpu_allocatable: z.string().meta({ description: 'The Kubernetes quantity as it is, such as `1930m`.' }),
  cpu_capacity: z.string().meta({ description: 'The Kubernetes quantity as it is, such as `2`.' }),
  memory_allocatable_bytes: z.int(),
  memory_capacity_bytes: z.int(),
  pods_allocatable: z.int(),
  pods_capacity: z.int(),
  pods_running: z.int().meta({ description: 'All pods that run on the node.' }),
  boxes: z.int().meta({ description: 'Those of them that are boxes of this deployment.' }),
  ready: z.boolean(),
})

/** `GET /healthz`; without a good token only `status`, `api` and an empty `errors`. */
export const healthSchema = z
  .looseObject({
    status: z.enum(['ok', 'degraded', 'unavailable']),
    api: z.looseObject({ api_version: z.string() }),
    errors: z
      .array(z.string())
      .meta({ description: 'What is wrong: a sentence each, with evidence and remedy. Empty without a good token.' }),
    problems: z.array(healthFaultSchema).optional().meta({ description: 'The same, in parts.' }),
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
        storage: storageSchema.optional(),
        storage_mounts: z.array(storageSchema),
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
    features: z.array(z.string()),
    limits: limitsSchema,
  })
  .meta({ id: 'Config' })

/** One error code explained; `ProblemType` of problem-types.ts. */
export const problemTypeSchema = z
  .looseObject({
    type: z.string().meta({ description: 'The `type` of problems of this code: a path of the origin that answered.' }),
    code: z.string(),
    title: z.string(),
    status: z.int(),
    retryable: z.boolean().meta({ description: 'Whether the same request may succeed later.' }),
    meaning: z.string(),
    remedy: z.string().meta({ description: 'What to do about it.' }),
    catalogue: z.string().meta({ description: 'The path of the list of all.' }),
  })
  .meta({ id: 'ProblemType' })

/** `GET /problems`. */
export const problemTypeListSchema = z
  .looseObject({ problems: z.array(problemTypeSchema) })
  .meta({ id: 'ProblemTypeList' })

/** The path of one error code; what is no code is not found. */
export const problemTypeParams = z.strictObject({ code: z.string().max(200) })

/** What a token may do; permissions do not imply each other. */
export const permissionSchema = z.enum(['read', 'write', 'exec', 'admin']).meta({ id: 'Permission' })

const projectsSchema = z
  .union([z.literal('*'), z.array(nameSchema).min(1).max(256)])
  .meta({ id: 'TokenProjects', description: 'Project names, or `*` for all.' })

const permissionsSchema = z.array(permissionSchema).min(1).max(4)

/** `POST /v1/tokens`: subsets of the minting token's own projects, permissions and remaining life. */
export const createTokenBodySchema = z
  .strictObject({
    name: nameSchema,
    projects: projectsSchema,
    permissions: permissionsSchema,
    expires_in_seconds: z
      .int()
      .min(1)
      .max(315_360_000)
      .nullable()
      .optional()
      .meta({ description: 'Null or left out: as long as the minting token.' }),
  })
  .meta({ id: 'CreateToken' })

const tokenFields = {
  name: z.string(),
  projects: projectsSchema,
  permissions: permissionsSchema,
  expires_at: timestampSchema.nullable(),
}

/** `GET /v1/me`. */
export const meSchema = z.looseObject({ id: idSchema, ...tokenFields }).meta({ id: 'Me' })

/** A token's record. */
export const tokenSchema = z
  .looseObject({
    id: idSchema,
    ...tokenFields,
    created_at: timestampSchema,
    created_by: idSchema.nullable().meta({ description: 'The token that it was minted with.' }),
    revoked_at: timestampSchema.nullable(),
  })
  .meta({ id: 'Token' })

/** The answer of `POST /v1/tokens`: the only time that `token` is shown. */
export const mintedTokenSchema = tokenSchema
  .extend({
    token: z.string().optional().meta({ description: 'The bearer token, shown once; a replay leaves it out.' }),
  })
  .meta({ id: 'MintedToken' })

/** `GET /v1/tokens`. */
export const tokenListSchema = z.looseObject({ tokens: z.array(tokenSchema), ...pageFields }).meta({ id: 'TokenList' })

/** The path of one token. */
export const tokenParams = z.strictObject({ token: idSchema })

/** A mutation that outlived its wait. */
export const operationSchema = z
  .looseObject({
    id: idSchema,
    kind: z.string().meta({ description: 'Such as `box.stop` or `backup.create`.' }),
    status: z.enum(['running', 'done', 'failed']),
    progress: z.number().nullable().meta({ description: 'From 0 to 1; null: not known.' }),
    resource: z.string().meta({ description: 'The path of what it works on.' }),
    error: z
      .looseObject({ code: z.string(), detail: z.string() })
      .nullable()
      .meta({ description: 'A problem, or null.' }),
    created_at: timestampSchema,
    ended_at: timestampSchema.nullable(),
  })
  .meta({ id: 'Operation' })

/** The path of one operation. */
export const operationParams = z.strictObject({ operation: idSchema })

/** The query of `GET /v1/operations/{id}`. */
export const operationQuery = z.strictObject({
  wait_seconds: waitSeconds(0, 'Seconds to wait for the end.'),
})

export type Health = z.infer<typeof healthSchema>
export type HealthFault = z.infer<typeof healthFaultSchema>
export type Permission = z.infer<typeof permissionSchema>
export type CreateTokenBody = z.infer<typeof createTokenBodySchema>
export type OperationResource = z.infer<typeof operationSchema>

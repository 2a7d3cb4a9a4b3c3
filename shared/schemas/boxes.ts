import * as z from 'zod'
import {
  boxEnvironmentSchema,
  boxNameSchema,
  cpusSchema,
  environmentSchema,
  gibSchema,
  idSchema,
  mountPathSchema,
  nameSchema,
  nodeNameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  protocolSchema,
  readOnlyFields,
  tagQuery,
  tagsSchema,
  timestampSchema,
} from './common.ts'
import { bothText, forbid } from './field-rules.ts'

/** The four states of a box, which are the buckets of the health report. */
export const boxStatusSchema = z.enum(['pending', 'running', 'stopped', 'unknown']).meta({
  id: 'BoxStatus',
  description:
    '`pending`: the box is being created, started, stopped or restored. `unknown`: the runtime does not answer for it, or cannot restart it.',
})

/** Why a box is in its state (docs/api.md#states-of-a-box). */
export const boxReasonSchema = z
  .enum([
    'creating',
    'starting',
    'stopping',
    'restoring',
    'resizing',
    'deleting',
    'ready',
    'stopped_by_request',
    'idle',
    'exited',
    'out_of_memory',
    'failed',
    'host_lost',
  ])
  .meta({
    id: 'BoxReason',
    description:
      'Why the box has its status. `resizing` and `deleting` do not occur yet, and `host_lost` occurs only in a fleet.',
  })

/** CPUs, memory and storage as a client requests them. Null means the default of the deployment, or of the forked box. */
export const boxConfigInputSchema = z
  .strictObject({
    cpus: cpusSchema.nullable().meta({ description: 'Cores, may be fractional. At most the CPUs of the host.' }),
    ram_mb: z.int().min(16, 'must be at least 16').max(16_777_216).nullable().meta({ description: 'Memory in MiB.' }),
    region: z.string().min(1).max(63).nullable().meta({ description: 'Must be the region of the deployment.' }),
    storage_gb: gibSchema.nullable().meta({ description: 'GiB the box can write beyond what it inherited.' }),
    network_mbps: z.int().min(1, 'must be at least 1').max(100_000).nullable().meta({
      description:
        'Network bandwidth in Mbit/s, for each direction. At most `defaults.config.network_mbps` of `GET /v1/config`, if that is not null.',
    }),
    disk_mbps: z.int().min(1, 'must be at least 1').max(100_000).nullable().meta({
      description:
        'Disk throughput in megabytes per second, reads and writes together. At most `defaults.config.disk_mbps` of `GET /v1/config`, if that is not null.',
    }),
    disk_iops: z.int().min(1, 'must be at least 1').max(10_000_000).nullable().meta({
      description:
        'Disk operations per second, reads and writes together. At most `defaults.config.disk_iops` of `GET /v1/config`, if that is not null.',
    }),
    shm_mb: z.int().min(1, 'must be at least 1').max(16_777_216).nullable().meta({
      description:
        'Size of `/dev/shm` in MiB, at most `ram_mb` and part of it; null means half of `ram_mb`. Applies at once, but existing content stays.',
    }),
    core_dumps: z.boolean().nullable().meta({
      description:
        'If true, crashing programs may leave core dumps on the disk of the box (docs/inside.md#core-dumps). Applies from the next command.',
    }),
    nesting: z.boolean().nullable().meta({
      description:
        'If true, container runtimes and sandboxes work in the box (docs/security.md#nesting). Requires `nesting` of `GET /v1/config`, and applies from the next start.',
    }),
  })
  .partial()
  .meta({ id: 'BoxConfigInput' })

/** Cores, memory (MiB), region and storage (GiB) of a box. */
export const boxConfigSchema = z
  .looseObject({
    cpus: z.number().meta({ description: 'Number of cores, may be fractional.' }),
    ram_mb: z.int().meta({ description: 'Memory in MiB.' }),
    region: z.string().meta({ description: 'Region of the deployment.' }),
    storage_gb: z.number().meta({ description: 'GiB the box can write beyond what it inherited, compressed.' }),
    network_mbps: z.int().nullable().meta({
      description:
        'Network bandwidth in Mbit/s, for each direction, with at most 200 packets per second for each Mbit/s. Null for no limit.',
    }),
    disk_mbps: z.int().nullable().meta({
      description:
        'Disk throughput in megabytes (10^6 bytes) per second, reads and writes together; null for no limit. A box that exceeds it is paused for a while (docs/security.md#the-disk).',
    }),
    disk_iops: z.int().nullable().meta({
      description:
        'Disk operations per second, reads and writes together; null for no limit. A box that exceeds it is paused for a while.',
    }),
    shm_mb: z.int().nullable().meta({ description: 'MiB of `/dev/shm`, part of `ram_mb`. Null means half of it.' }),
    core_dumps: z.boolean().meta({ description: 'Whether crashing programs may leave core dumps on its disk.' }),
    nesting: z.boolean().meta({ description: 'Whether its next start allows containers and sandboxes.' }),
  })
  .meta({ id: 'BoxConfig' })

const authSchema = z.enum(['token', 'public'])
const AUTH_TEXT = '`token` requires a token with `read` in the project. `public` allows anyone.'
const WAKE_TEXT = 'Whether a request for one of its URLs starts the stopped box.'

/** Whole numbers of 32 bits, as the specification defines them. */
const portNumber = z.int().min(0).max(65_535).meta({ format: 'int32' })
const seconds = z.int().min(0).max(2_147_483_647).meta({ format: 'int32' })

/** Settings of a box that are neither its size nor a map. Null resets one to its default. */
const SETTINGS = {
  port: portNumber.nullable().meta({ description: 'Port its URL forwards to. 0 and null unset it.' }),
  protocol: protocolSchema.nullable(),
  termination_grace_period_seconds: seconds
    .nullable()
    .meta({ description: 'Seconds from SIGTERM to SIGKILL on stop.' }),
  url_settings: z
    .strictObject({
      auth: authSchema.nullable().meta({ description: AUTH_TEXT }),
      wake: z.boolean().nullable().meta({ description: WAKE_TEXT }),
      idle_stop_seconds: z.int().min(1).max(2_147_483_647).nullable().meta({
        description:
          'Stops the box after this many seconds without requests for its URLs, commands, consoles or leases.',
      }),
    })
    .partial()
    .nullable(),
}

/** `POST P/boxes`. A fork has the size, environment, port and grace period of its source, unless the request sets them. */
export const createBoxBodySchema = z
  .strictObject({
    name: boxNameSchema,
    base: nameSchema
      .nullable()
      .optional()
      .meta({ description: 'Base to create the box from. If null or absent, the default base of `GET /v1/config`.' }),
    fork: z
      .string()
      .regex(/^[a-z0-9-]{1,63}(@[a-z0-9-]{1,63})?$/, 'must be a box, or box@snapshot')
      .nullable()
      .optional()
      .meta({
        description:
          'Box of the project to clone with its current disk, or `box@snapshot`. Null for none. Not allowed with `base`.',
      }),
    config: boxConfigInputSchema.optional(),
    node: nodeNameSchema
      .optional()
      .meta({ description: 'Node to place the box on, as in the `node` field of boxes. Any node if absent.' }),
    data_mounts: z
      .array(z.strictObject({ name: nameSchema, path: mountPathSchema, read_only: z.boolean().optional() }))
      .max(64)
      .nullable()
      .optional()
      .meta({ description: 'Data volumes of the project to attach before the box runs. Null for none.' }),
    environment: boxEnvironmentSchema.optional(),
    tags: tagsSchema.optional(),
    ...z.strictObject(SETTINGS).partial().shape,
  })
  .meta({ id: 'CreateBox', override: forbid(bothText('base', 'fork')) })

const dataMountSchema = z.looseObject({
  name: z.string().meta({ description: 'Name of the data volume.' }),
  path: z.string().meta({ description: 'Mount path in the box.' }),
  read_only: z.boolean(),
})

const urlSettingsSchema = z.looseObject({
  auth: authSchema.meta({ description: AUTH_TEXT }),
  wake: z.boolean().meta({ description: WAKE_TEXT }),
  idle_stop_seconds: z
    .int()
    .nullable()
    .meta({ description: 'Seconds without use until the box is stopped. Null for never.' }),
})

/**
 * `PUT B`. An absent field stays, and null resets it to its default. `config` and `url_settings` merge by field, and maps are replaced
 * whole. Read-only fields can be sent back unchanged (docs/api.md#conventions).
 */
export const updateBoxBodySchema = z
  .strictObject({
    config: boxConfigInputSchema.nullable(),
    environment: boxEnvironmentSchema.nullable(),
    ...SETTINGS,
    tags: tagsSchema.nullable(),
    ...readOnlyFields([
      'id',
      'name',
      'project',
      'status',
      'state',
      'created_at',
      'updated_at',
      'base',
      'fork_of',
      'node',
      'data_mounts',
      'published_domains',
      'url',
      'lease_until',
    ]),
  })
  .partial()
  .meta({ id: 'UpdateBox' })

/** `POST B/lease`. */
export const leaseBodySchema = z
  .strictObject({
    seconds: z.int().min(0).max(604_800).meta({
      description: 'Seconds from now. A longer lease stays, and 0 ends it.',
    }),
  })
  .meta({ id: 'Lease' })

/** A box (docs/api/resources.md#box). All fields are always present. */
export const boxSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    status: boxStatusSchema,
    state: z.looseObject({
      reason: boxReasonSchema,
      message: z.string().nullable().meta({ description: 'Details of the reason, for people.' }),
      since: timestampSchema.meta({ description: 'When the box entered this state.' }),
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    base: z.string().nullable().meta({ description: 'Base of the box, or of the box it was forked from.' }),
    fork_of: z.string().nullable().meta({
      description: 'Box it was forked from, without the snapshot name. Null if it was created from a base.',
    }),
    node: z.string().meta({ description: 'Node of the cluster that runs the box. Without a cluster, the region.' }),
    config: boxConfigSchema,
    data_mounts: z.array(dataMountSchema).meta({ description: 'Data volumes attached to the box.' }),
    environment: environmentSchema.meta({ description: 'Shown to tokens with `write`. Empty for others.' }),
    port: portNumber.nullable().meta({ description: 'Port that its URL forwards to. Null for 8080.' }),
    protocol: protocolSchema,
    published_domains: z.array(z.string()).meta({ description: 'Custom domains, in addition to its URL.' }),
    tags: tagsSchema.meta({ description: 'Tags that clients set. Filter lists with the `tag` parameter.' }),
    termination_grace_period_seconds: seconds.meta({ description: 'Seconds from SIGTERM to SIGKILL on stop.' }),
    url: z.string().nullable().meta({ description: 'URL that forwards to `port`. Every box has one.' }),
    url_settings: urlSettingsSchema,
    lease_until: timestampSchema
      .nullable()
      .meta({ description: 'End of its lease, maybe in the past. Null for none.' }),
  })
  .meta({ id: 'Box' })

/** `GET P/boxes`. */
export const boxListSchema = z.looseObject({ boxes: z.array(boxSchema), ...pageFields }).meta({ id: 'BoxList' })

/** The query of `GET P/boxes`. `tag` holds `key` or `key=value`, comma separated or repeated, and all must match. */
export const boxListQuery = pageQuery.extend({
  prefix: prefixQuery,
  status: boxStatusSchema.optional(),
  tag: tagQuery,
})

/** The path of one box. */
export const boxParams = z.strictObject({ project: nameSchema, name: nameSchema })

export type Box = z.infer<typeof boxSchema>
export type BoxStatus = z.infer<typeof boxStatusSchema>
export type BoxReason = z.infer<typeof boxReasonSchema>
export type BoxConfig = z.infer<typeof boxConfigSchema>
export type CreateBoxBody = z.infer<typeof createBoxBodySchema>
export type UpdateBoxBody = z.infer<typeof updateBoxBodySchema>
export type BoxListQuery = z.infer<typeof boxListQuery>

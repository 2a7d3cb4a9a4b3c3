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
    '`pending`: being created, started, stopped or restored; `unknown`: the runtime does not answer for it, or cannot start it again.',
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
    description: 'Why a box is in its status. `resizing` and `deleting` do not occur yet, `host_lost` only in a fleet.',
  })

/** Cores, memory and storage as a client requests them; null is the default of the deployment, or of the forked box. */
export const boxConfigInputSchema = z
  .strictObject({
    cpus: cpusSchema.nullable().meta({ description: 'Cores, may be fractional; at most the processors of the host.' }),
    ram_mb: z.int().min(16, 'must be at least 16').max(16_777_216).nullable(),
    region: z.string().min(1).max(63).nullable().meta({ description: "The deployment's own region." }),
    storage_gb: gibSchema.nullable().meta({ description: 'GiB the box may write beyond what it inherited.' }),
    network_mbps: z.int().min(1, 'must be at least 1').max(100_000).nullable().meta({
      description:
        'Mbit/s that the box may send, and as many that it may receive; at most `network_mbps` of the defaults of `GET /v1/config`, if that is not null.',
    }),
    disk_mbps: z.int().min(1, 'must be at least 1').max(100_000).nullable().meta({
      description:
        'Megabytes a second that the box may read and write together on the disk; at most `disk_mbps` of the defaults of `GET /v1/config`, if that is not null.',
    }),
    disk_iops: z.int().min(1, 'must be at least 1').max(10_000_000).nullable().meta({
      description:
        'Reads and writes a second, together, that the box may make the disk do; at most `disk_iops` of the defaults of `GET /v1/config`, if that is not null.',
    }),
    shm_mb: z.int().min(1, 'must be at least 1').max(16_777_216).nullable().meta({
      description:
        'MiB of `/dev/shm`, at most `ram_mb` of which it is a part; null: half of `ram_mb`. In force at once, but for what it holds already.',
    }),
    core_dumps: z.boolean().nullable().meta({
      description:
        'True: programs that crash may leave core dumps on the disk of the box (docs/inside.md#core-dumps). In force from the next command.',
    }),
    nesting: z.boolean().nullable().meta({
      description:
        'True: container runtimes and sandboxes work in the box (docs/security.md#nesting); only where `nesting` of `GET /v1/config` is true. In force from the next start.',
    }),
  })
  .partial()
  .meta({ id: 'BoxConfigInput' })

/** Cores, memory (MiB), region and storage (GiB) of a box. */
export const boxConfigSchema = z
  .looseObject({
    cpus: z.number().meta({ description: 'Cores, may be fractional.' }),
    ram_mb: z.int().meta({ description: 'MiB.' }),
    region: z.string().meta({ description: "The deployment's own." }),
    storage_gb: z.number().meta({ description: 'GiB it may write beyond what it inherited, compressed.' }),
    network_mbps: z.int().nullable().meta({
      description:
        'Mbit/s that the box may send, and as many that it may receive, in at most 200 packets a second for each Mbit/s; null: without a bound.',
    }),
    disk_mbps: z.int().nullable().meta({
      description:
        'Megabytes (10^6 bytes) a second that the box may read and write together on the disk: one that exceeds it stands still for a while (docs/security.md#the-disk); null: without a bound.',
    }),
    disk_iops: z.int().nullable().meta({
      description:
        'Reads and writes a second, together, that the box may make the disk do, likewise; null: without a bound.',
    }),
    shm_mb: z.int().nullable().meta({ description: 'MiB of `/dev/shm`, a part of `ram_mb`; null: half of that.' }),
    core_dumps: z.boolean().meta({ description: 'Whether programs may leave core dumps on its disk.' }),
    nesting: z.boolean().meta({ description: 'Whether its next start lets containers and sandboxes run in it.' }),
  })
  .meta({ id: 'BoxConfig' })

/** `POST P/boxes`. */
export const createBoxBodySchema = z
  .strictObject({
    name: boxNameSchema,
    base: nameSchema
      .nullable()
      .optional()
      .meta({ description: 'The default base of `GET /v1/config` if null or left out.' }),
    fork: z
      .string()
      .regex(/^[a-z0-9-]{1,63}(@[a-z0-9-]{1,63})?$/, 'must be a box, or box@snapshot')
      .nullable()
      .optional()
      .meta({
        description:
          'A box of the project, whose disk is cloned as it is now, or `box@snapshot`; not with `base`. Null: none.',
      }),
    config: boxConfigInputSchema.optional(),
    node: nodeNameSchema.optional().meta({ description: 'Node that it must be on, as boxes tell it; by default any.' }),
    data_mounts: z
      .array(z.strictObject({ name: nameSchema, path: mountPathSchema, read_only: z.boolean().optional() }))
      .max(64)
      .nullable()
      .optional()
      .meta({ description: 'Data volumes of the project to attach before the box runs. Null: none.' }),
    environment: boxEnvironmentSchema.optional(),
    tags: tagsSchema.optional(),
  })
  .meta({ id: 'CreateBox', override: forbid(bothText('base', 'fork')) })

const dataMountSchema = z.looseObject({
  name: z.string().meta({ description: 'Name of the data volume.' }),
  path: z.string().meta({ description: 'Mount path in the box.' }),
  read_only: z.boolean(),
})

const authSchema = z.enum(['token', 'public'])

const urlSettingsSchema = z.looseObject({
  auth: authSchema.meta({
    description: 'Who may use its URLs: bearers of a token with `read` in the project, or anybody.',
  }),
  wake: z.boolean().meta({ description: 'Starts the stopped box on a request for one of its URLs.' }),
  idle_stop_seconds: z
    .int()
    .nullable()
    .meta({ description: 'Seconds without use after which the box is stopped; null for never.' }),
})

const seconds = z.int().min(0).max(2_147_483_647)

/**
 * `PUT B`: a field left out stays, null clears it to its default. `config` and `url_settings` merge by field, maps are
 * replaced whole. Read-only fields may be repeated as they are (docs/api.md#conventions).
 */
export const updateBoxBodySchema = z
  .strictObject({
    config: boxConfigInputSchema.nullable(),
    environment: boxEnvironmentSchema.nullable(),
    port: z.int().min(0).max(65_535).nullable().meta({ description: 'Port of its URL; 0 and null unset it.' }),
    protocol: protocolSchema.nullable(),
    tags: tagsSchema.nullable(),
    termination_grace_period_seconds: seconds.nullable(),
    url_settings: z
      .strictObject({
        auth: authSchema.nullable(),
        wake: z.boolean().nullable(),
        idle_stop_seconds: z.int().min(1).max(2_147_483_647).nullable().meta({
          description:
            'Seconds after which a box without requests for its URLs, commands, consoles and leases is stopped.',
        }),
      })
      .partial()
      .nullable(),
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
    seconds: z
      .int()
      .min(0)
      .max(604_800)
      .meta({ description: 'Seconds from now; a longer lease stays, and 0 ends it.' }),
  })
  .meta({ id: 'Lease' })

/** A box (docs/api/resources.md#box): all fields are always present. */
export const boxSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    project: nameSchema,
    status: boxStatusSchema,
    state: z.looseObject({
      reason: boxReasonSchema,
      message: z.string().nullable().meta({ description: 'Details of the reason, for people.' }),
      since: timestampSchema.meta({ description: 'When this state began.' }),
    }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    base: z.string().nullable().meta({ description: 'Base of the box, or of the box that it was forked from.' }),
    fork_of: z.string().nullable().meta({
      description: 'Box that it was forked from, without the name of a snapshot; null: it was made from a base.',
    }),
    node: z.string().meta({ description: 'Node of the cluster; without a cluster the region.' }),
    config: boxConfigSchema,
    data_mounts: z.array(dataMountSchema).meta({ description: 'Data volumes that are attached to it.' }),
    environment: environmentSchema.meta({ description: 'Shown to tokens with `write`, else empty.' }),
    port: z.int().nullable().meta({ description: 'Port that its URL leads to; null for 8080.' }),
    protocol: protocolSchema,
    published_domains: z.array(z.string()).meta({ description: 'Domains at which it is served beside its URL.' }),
    tags: tagsSchema.meta({ description: 'Set by clients; `tag` of a list selects by them.' }),
    termination_grace_period_seconds: z.int().meta({ description: 'Seconds from SIGTERM to SIGKILL of a stop.' }),
    url: z.string().nullable().meta({ description: 'URL that leads to its `port`; every box has one.' }),
    url_settings: urlSettingsSchema,
    lease_until: timestampSchema.nullable().meta({ description: 'End of its lease; may be in the past. Null: none.' }),
  })
  .meta({ id: 'Box' })

/** `GET P/boxes`. */
export const boxListSchema = z.looseObject({ boxes: z.array(boxSchema), ...pageFields }).meta({ id: 'BoxList' })

/** The query of `GET P/boxes`; `tag` holds `key` or `key=value`, comma separated or repeated, all must match. */
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

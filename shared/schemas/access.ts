import * as z from 'zod'
import {
  idSchema,
  MEASURED,
  nameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  readOnlyFields,
  timestampSchema,
} from './common.ts'

/** Permissions of a token; they do not imply each other. */
export const PERMISSIONS = ['read', 'write', 'exec', 'ports', 'admin'] as const

const permissionSchema = z
  .enum(PERMISSIONS)
  .meta({ id: 'Permission', description: 'What a token may do; none implies another.' })

const projectsSchema = z
  .union([z.literal('*'), z.array(nameSchema).min(1).max(256)])
  .meta({ id: 'TokenProjects', description: 'Project names, or `*` for all.' })

const permissionsSchema = z.array(permissionSchema).min(1).max(PERMISSIONS.length)

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
      .meta({ description: 'Seconds until it expires; null or absent: with the minting token.' }),
  })
  .meta({ id: 'CreateToken' })

const tokenFields = {
  name: z.string(),
  projects: projectsSchema.meta({ description: 'Projects that it gives access to; `*`: all, also new ones.' }),
  permissions: permissionsSchema,
  expires_at: timestampSchema.nullable().meta({ description: 'Null: it never expires.' }),
}

/** `GET /v1/me`. */
export const meSchema = z
  .looseObject({
    id: idSchema.meta({ description: 'Id of the token that the request came with.' }),
    ...tokenFields,
    stands_for: z
      .looseObject({ id: idSchema, name: z.string(), expires_at: timestampSchema.nullable() })
      .nullable()
      .meta({
        description:
          'Of a session of the web console: the token that it stands for, which is what mints, lists and revokes tokens in it. Null: it is no session.',
      }),
  })
  .meta({ id: 'Me' })

/** A token's record. */
export const tokenSchema = z
  .looseObject({
    id: idSchema,
    ...tokenFields,
    created_at: timestampSchema,
    created_by: idSchema
      .nullable()
      .meta({ description: 'The token that it was minted with; null: it was minted on the host of the agent.' }),
    is_session: z.boolean().meta({ description: 'Whether it is a session of the web console.' }),
    session: idSchema.nullable().meta({
      description:
        'The session of the web console in which it was minted; null: none. It is revoked together with that, and lives on when that is signed out or expires.',
    }),
    revoked_at: timestampSchema.nullable().meta({
      description:
        'Null: it is not revoked. A token is revoked together with the one that it was minted with. Of a session also the time of its sign-out.',
    }),
  })
  .meta({ id: 'Token' })

/** The answer of `POST /v1/tokens`: the only time that `token` is shown. */
export const mintedTokenSchema = tokenSchema
  .extend({
    token: z.string().optional().meta({ description: 'The bearer token, shown once; absent in a replay.' }),
  })
  .meta({ id: 'MintedToken' })

/** `GET /v1/tokens`. */
export const tokenListSchema = z.looseObject({ tokens: z.array(tokenSchema), ...pageFields }).meta({ id: 'TokenList' })

/** The path of one token. */
export const tokenParams = z.strictObject({ token: idSchema })

/** Operations of a box that a ticket may be for. */
const TICKETED = [
  'streamExec',
  'openConsole',
  'openPort',
  'readFile',
  'writeFile',
  'listFiles',
  'readArchive',
  'writeArchive',
  'getServiceLogs',
] as const

/** `POST B/tickets`. */
export const ticketBodySchema = ticketBodyOf(TICKETED)
  .extend({
    service: nameSchema.optional().meta({ description: 'Service, for `getServiceLogs`.' }),
    port: z.int().min(1).max(65_535).optional().meta({ description: 'Port, for `openPort`.' }),
  })
  .meta({ id: 'TicketRequest' })

/** `POST P/tickets`, for operations outside of a box. */
export const projectTicketBodySchema = ticketBodyOf(['createBase', 'listEvents']).meta({ id: 'ProjectTicketRequest' })

/** A ticket: `url` works once, within 60 s. */
export const ticketSchema = z
  .looseObject({
    url: z.string().optional().meta({ description: 'URL to send the request to; absent in a replay.' }),
    method: z.string().meta({ description: 'HTTP method of that request.' }),
    exec_id: idSchema.optional().meta({
      description: 'Of `streamExec`: id that the command will have, for clients that cannot read `X-Exec-Id`.',
    }),
    expires_at: timestampSchema.meta({
      description: '60 s after the ticket was made, or when the token expires if that is earlier.',
    }),
  })
  .meta({ id: 'Ticket' })

/** The answer of `POST /v1/session`, with the `Set-Cookie` of the other half. */
export const signInSchema = z
  .looseObject({
    session: z.string().optional().meta({
      description:
        'One half of the session: value of the header `X-Boxyard-Session`. It is worth nothing without the cookie of this answer, nor that without it. Shown once; absent in a replay.',
    }),
    expires_at: timestampSchema.meta({
      description: '7 days after it was begun, or when the token expires that it was begun with, if that is earlier.',
    }),
    token: meSchema,
  })
  .meta({ id: 'SignIn' })

/** The answer of `POST /v1/session/links`. */
export const signInLinkSchema = z
  .looseObject({
    ticket: z.string().optional().meta({
      description:
        'For `/sign-in#<ticket>` of the console; goes to `signIn` and `getSignInLink` in the header `X-Boxyard-Link`, or as `?ticket=<ticket>`. Absent in a replay.',
    }),
    expires_at: timestampSchema.meta({
      description: '10 minutes after it was made, or when the token expires if that is earlier.',
    }),
  })
  .meta({ id: 'SignInLink' })

/** The answer of `GET /v1/session/links`. */
export const signInLinkTokenSchema = z
  .looseObject({
    expires_at: timestampSchema.meta({ description: 'End of a session that began now, as `expires_at` of `signIn`.' }),
    token: meSchema.meta({ description: 'The token that the link signs in with.' }),
  })
  .meta({ id: 'SignInLinkToken' })

function ticketBodyOf<const T extends string>(ticketed: readonly T[]) {
  return z.strictObject({
    operation: z.enum(ticketed).meta({ description: '`operationId` of the operation that the ticket is for.' }),
    query: z
      .record(z.string().max(64), z.union([z.string().max(16_384), z.array(z.string().max(16_384)).max(4096)]))
      .refine((query) => Object.keys(query).length <= 32, 'at most 32 names')
      .optional()
      .meta({ description: 'Query of that operation, to which the ticket is bound.' }),
  })
}

/** What a quota counts: what is configured, and of storage also what is there. */
const COUNTED = {
  boxes: { description: 'Boxes, running or not.' },
  cpus: { description: 'Cores: sum of `config.cpus` of the boxes that run or are to run.' },
  ram_mb: { description: 'MiB: sum of `config.ram_mb` of the boxes that run or are to run.' },
  storage_gb: {
    description:
      'GiB: the sum of `config.storage_gb` of all boxes and `size_gb` of all data volumes, or what the project keeps (`used.stored_bytes`) if that is more.',
  },
}

const amounts = z.looseObject({
  boxes: z.number().meta(COUNTED.boxes),
  cpus: z.number().meta(COUNTED.cpus),
  ram_mb: z.number().meta(COUNTED.ram_mb),
  storage_gb: z.number().meta(COUNTED.storage_gb),
})

const allowed = z.number().min(0).max(1_000_000_000).nullable()

/** The quota of a project and its use. Processors and memory count boxes that run or are to run. */
export const quotaSchema = z
  .looseObject({
    project: nameSchema,
    allowed: z
      .looseObject({
        boxes: z.number().nullable().meta(COUNTED.boxes),
        cpus: z.number().nullable().meta(COUNTED.cpus),
        ram_mb: z.number().nullable().meta(COUNTED.ram_mb),
        storage_gb: z.number().nullable().meta(COUNTED.storage_gb),
      })
      .meta({
        description:
          'Most that the project may have; null: unlimited. If it was never set, `quota` of the defaults of `GET /v1/config`.',
      }),
    used: amounts
      .extend({
        stored_bytes: z.int().meta({
          description:
            'Bytes on the disk, compressed, that are there because of the project: its boxes, volumes, snapshots, bases, previews, and what these keep of deleted ones. What is shared with a base of the deployment is free.',
        }),
      })
      .meta({ description: 'What counts against it now.' }),
    updated_at: timestampSchema.nullable().meta({ description: 'Last change of the quota; null: it was never set.' }),
  })
  .meta({ id: 'Quota' })

/** A project that has something, with its quota and use. */
export const projectSchema = quotaSchema
  .extend({
    boxes: z
      .looseObject({
        running: z.int().meta({ description: 'With the status `running`.' }),
        stopped: z.int().meta({ description: 'With the status `stopped`.' }),
        other: z.int().meta({ description: 'With another, `pending` or `unknown`.' }),
      })
      .meta({ description: 'How many boxes it has of each kind of status; their sum is `used.boxes`.' }),
    volumes: z.int().meta({ description: 'Data volumes.' }),
  })
  .meta({ id: 'Project' })

/** `GET /v1/projects`. */
export const projectListSchema = z
  .looseObject({ projects: z.array(projectSchema), ...pageFields })
  .meta({ id: 'ProjectList' })

/** The query of `GET /v1/projects`. */
export const projectListQuery = pageQuery.extend({ prefix: prefixQuery })

/** `PUT /v1/projects/{project}/quota`: a field left out stays, null is unlimited; read-only fields may be repeated. */
export const updateQuotaBodySchema = z
  .strictObject({
    allowed: z
      .strictObject({ boxes: allowed, cpus: allowed, ram_mb: allowed, storage_gb: allowed })
      .partial()
      .nullable(),
    used: amounts.meta(MEASURED),
    ...readOnlyFields(['project', 'updated_at']),
  })
  .partial()
  .meta({ id: 'UpdateQuota' })

export type Permission = (typeof PERMISSIONS)[number]
export type CreateTokenBody = z.infer<typeof createTokenBodySchema>
export type BoxTicketBody = z.infer<typeof ticketBodySchema>
export type TicketBody = z.infer<typeof ticketBodySchema | typeof projectTicketBodySchema>
export type Quota = z.infer<typeof quotaSchema>
export type Project = z.infer<typeof projectSchema>
export type ProjectListQuery = z.output<typeof projectListQuery>
export type UpdateQuotaBody = z.infer<typeof updateQuotaBodySchema>

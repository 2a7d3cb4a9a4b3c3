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

/** Permissions of a token. None implies another. */
export const PERMISSIONS = ['read', 'write', 'exec', 'ports', 'admin'] as const

const permissionSchema = z
  .enum(PERMISSIONS)
  .meta({ id: 'Permission', description: 'A permission of a token. No permission implies another.' })

const projectsSchema = z
  .union([z.literal('*'), z.array(nameSchema).min(1).max(256)])
  .meta({ id: 'TokenProjects', description: 'Project names, or `*` for all projects.' })

const permissionsSchema = z.array(permissionSchema).min(1).max(PERMISSIONS.length)

/** `POST /v1/tokens`: subsets of the projects, permissions and remaining life of the token in use. */
export const createTokenBodySchema = z
  .strictObject({
    name: nameSchema.meta({ description: 'Name of the token.' }),
    projects: projectsSchema,
    permissions: permissionsSchema.meta({ description: 'Permissions of the token.' }),
    expires_in_seconds: z.int().min(1).max(315_360_000).nullable().optional().meta({
      description: 'Seconds until the token expires. If null or absent, it expires with the token that creates it.',
    }),
  })
  .meta({ id: 'CreateToken' })

const tokenFields = {
  name: z.string(),
  projects: projectsSchema.meta({
    description: 'Projects the token can access. `*` means all projects, including future ones.',
  }),
  permissions: permissionsSchema,
  expires_at: timestampSchema.nullable().meta({ description: 'When the token expires. Null if it never does.' }),
}

/** `GET /v1/me`. */
export const meSchema = z
  .looseObject({
    id: idSchema.meta({ description: 'Id of the token that sent the request.' }),
    ...tokenFields,
    on_behalf_of: z
      .looseObject({ id: idSchema, name: z.string(), expires_at: timestampSchema.nullable() })
      .nullable()
      .meta({
        description:
          'For a web console session, the token behind it, which creates, lists and revokes tokens on its behalf. Null if this is not a session.',
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
      .meta({ description: 'Token that created this one. Null if it was created on the host of the agent.' }),
    is_session: z.boolean().meta({ description: 'Whether this is a session of the web console.' }),
    session: idSchema.nullable().meta({
      description:
        'Web console session that created the token, or null. Revoking the session also revokes this token, but signing out or expiry does not.',
    }),
    revoked_at: timestampSchema.nullable().meta({
      description:
        'When the token was revoked, directly or with the token that created it, or for a session, when it signed out. Null if it is not revoked.',
    }),
  })
  .meta({ id: 'Token' })

/** The answer of `POST /v1/tokens`. Only this answer shows `token`. */
export const createdTokenSchema = tokenSchema
  .extend({
    token: z.string().optional().meta({ description: 'The bearer token. Returned only once, and absent in a replay.' }),
  })
  .meta({ id: 'CreatedToken' })

/** `GET /v1/tokens`. */
export const tokenListSchema = z.looseObject({ tokens: z.array(tokenSchema), ...pageFields }).meta({ id: 'TokenList' })

/** The path of one token. */
export const tokenParams = z.strictObject({ token: idSchema })

/** Operations of a box for which a ticket can be created. */
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
    service: nameSchema.optional().meta({ description: 'Service name, for `getServiceLogs`.' }),
    port: z.int().min(1).max(65_535).optional().meta({ description: 'TCP port, for `openPort`.' }),
  })
  .meta({ id: 'TicketRequest' })

/** `POST P/tickets`, for operations outside of a box. */
export const projectTicketBodySchema = ticketBodyOf(['createBase', 'listEvents']).meta({ id: 'ProjectTicketRequest' })

/** A ticket. `url` works once, within 60 s. */
export const ticketSchema = z
  .looseObject({
    url: z.string().optional().meta({ description: 'URL for the request. Absent in a replay.' }),
    method: z.string().meta({ description: 'HTTP method for the request.' }),
    exec_id: idSchema.optional().meta({
      description: 'For `streamExec`, the id the command will have. Use it if your client cannot read `X-Exec-Id`.',
    }),
    expires_at: timestampSchema.meta({
      description: '60 s after the ticket was created, or when the token expires, whichever is first.',
    }),
  })
  .meta({ id: 'Ticket' })

/** The answer of `POST /v1/session`, with the other half in `Set-Cookie`. */
export const signInSchema = z
  .looseObject({
    session: z.string().optional().meta({
      description:
        'One half of the session, sent in the header `X-Boxyard-Session` together with the cookie from this response. Returned only once, and absent in a replay.',
    }),
    expires_at: timestampSchema.meta({
      description: '7 days after sign-in, or when the token used to sign in expires, whichever is first.',
    }),
    token: meSchema,
  })
  .meta({ id: 'SignIn' })

/** The answer of `POST /v1/session/links`. */
export const signInLinkSchema = z
  .looseObject({
    ticket: z.string().optional().meta({
      description:
        'Ticket for `/sign-in#<ticket>` in the console. Send it to `signIn` and `getSignInLink` in the header `X-Boxyard-Link` or as `?ticket=<ticket>`. Absent in a replay.',
    }),
    expires_at: timestampSchema.meta({
      description: '10 minutes after the link was created, or when the token expires, whichever is first.',
    }),
  })
  .meta({ id: 'SignInLink' })

/** The answer of `GET /v1/session/links`. */
export const signInLinkTokenSchema = z
  .looseObject({
    expires_at: timestampSchema.meta({
      description: 'When a session would expire if it started now, like `expires_at` of `signIn`.',
    }),
    token: meSchema.meta({ description: 'Token that the link signs in with.' }),
  })
  .meta({ id: 'SignInLinkToken' })

function ticketBodyOf<const T extends string>(ticketed: readonly T[]) {
  return z.strictObject({
    operation: z.enum(ticketed).meta({ description: '`operationId` of the operation to create the ticket for.' }),
    query: z
      .record(z.string().max(64), z.union([z.string().max(16_384), z.array(z.string().max(16_384)).max(4096)]))
      .refine((query) => Object.keys(query).length <= 32, 'at most 32 names')
      .optional()
      .meta({ description: 'Query of the operation. The ticket only works with this query.' }),
  })
}

/** Descriptions of the amounts that a quota counts. Storage counts the larger of configured and stored bytes. */
const COUNTED = {
  boxes: { description: 'Number of boxes in any state.' },
  cpus: { description: 'Sum of `config.cpus`, in cores, over boxes that run or should run.' },
  ram_mb: { description: 'Sum of `config.ram_mb`, in MiB, over boxes that run or should run.' },
  storage_gb: {
    description:
      'Sum, in GiB, of `config.storage_gb` over all boxes and `size_gb` over all data volumes. If the project stores more (`used.stored_bytes`), that amount counts.',
  },
}

const amounts = z.looseObject({
  boxes: z.number().meta(COUNTED.boxes),
  cpus: z.number().meta(COUNTED.cpus),
  ram_mb: z.number().meta(COUNTED.ram_mb),
  storage_gb: z.number().meta(COUNTED.storage_gb),
})

const allowed = z.number().min(0).max(1_000_000_000).nullable()

/** The quota of a project and its use. CPUs and memory count boxes that run or should run. */
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
          'Quota of the project, null for unlimited. If it was never set, `defaults.quota` of `GET /v1/config` applies.',
      }),
    used: amounts
      .extend({
        stored_bytes: z.int().meta({
          description:
            'Compressed bytes on disk for boxes, volumes, snapshots, bases and previews of the project, including data they retain from deleted ones. Data shared with a base of the deployment is free.',
        }),
      })
      .meta({ description: 'Current usage that counts against the quota.' }),
    updated_at: timestampSchema
      .nullable()
      .meta({ description: 'When the quota last changed. Null if it was never set.' }),
  })
  .meta({ id: 'Quota' })

/** A project with resources, and its quota and use. */
export const projectSchema = quotaSchema
  .extend({
    boxes: z
      .looseObject({
        running: z.int().meta({ description: 'Boxes with status `running`.' }),
        stopped: z.int().meta({ description: 'Boxes with status `stopped`.' }),
        other: z.int().meta({ description: 'Boxes with status `pending` or `unknown`.' }),
      })
      .meta({ description: 'Number of boxes by status. The sum equals `used.boxes`.' }),
    volumes: z.int().meta({ description: 'Number of data volumes.' }),
  })
  .meta({ id: 'Project' })

/** `GET /v1/projects`. */
export const projectListSchema = z
  .looseObject({ projects: z.array(projectSchema), ...pageFields })
  .meta({ id: 'ProjectList' })

/** The query of `GET /v1/projects`. */
export const projectListQuery = pageQuery.extend({ prefix: prefixQuery })

/** `PUT /v1/projects/{project}/quota`. An absent field stays, and null is unlimited. Read-only fields can be sent back. */
export const updateQuotaBodySchema = z
  .strictObject({
    allowed: z
      .strictObject({
        boxes: allowed.meta(COUNTED.boxes),
        cpus: allowed.meta(COUNTED.cpus),
        ram_mb: allowed.meta(COUNTED.ram_mb),
        storage_gb: allowed.meta(COUNTED.storage_gb),
      })
      .partial()
      .nullable()
      .meta({ description: 'Quota to set. An absent field keeps its value, and null means unlimited.' }),
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

import * as z from 'zod'
import {
  environmentSchema,
  integerQuery,
  nameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  tagsSchema,
  timestampSchema,
  waitSeconds,
} from './common.ts'
import { argumentSchema, cwdSchema, outputPieceFields, userSchema } from './exec.ts'

/** The bounds of what is answered about a service's past. */
export const SERVICE_HISTORY_MAX = 50

const probeCommand = z.array(argumentSchema).min(1).max(256)

/** When a service is ready; without one it is as soon as it runs. Exactly one of `http`, `tcp` and `command`. */
const readinessSchema = z
  .strictObject({
    http: z
      .string()
      .max(2048)
      .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
      .optional()
      .meta({ description: 'A path that is asked for at its port: an answer from 200 to 399 is good.' }),
    tcp: z.literal(true).optional().meta({ description: 'A connection to its port.' }),
    command: probeCommand
      .optional()
      .meta({ description: 'Run in the box as the user of the service: exit code 0 is good.' }),
    interval_seconds: z.number().min(0.1).max(300).optional().meta({ description: 'Between two looks; 1.' }),
    timeout_seconds: z.number().min(0.1).max(60).optional().meta({ description: 'Of one look; 2.' }),
    threshold: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Bad looks in a row that end its being ready; 3.' }),
  })
  .refine(({ http, tcp, command }) => [http, tcp, command].filter((one) => one !== undefined).length === 1, {
    error: 'exactly one of http, tcp and command',
  })

const SPEC = {
  command: z
    .array(argumentSchema)
    .min(1)
    .max(4096)
    .refine((all) => all.reduce((sum, { length }) => sum + length, 0) <= 65_536, {
      error: 'must be at most 65536 characters in all',
    }),
  env: environmentSchema.optional(),
  cwd: cwdSchema.optional(),
  user: userSchema.optional(),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .nullable()
    .optional()
    .meta({ description: 'Where it listens; it is told by `PORT`. 0 and null: it has none.' }),
  needs: z
    .array(nameSchema)
    .max(32)
    .optional()
    .meta({ description: 'Services of the box that are to be ready before it starts.' }),
  restart: z
    .enum(['always', 'on-failure', 'never'])
    .optional()
    .meta({ description: 'What follows its own end; `always`.' }),
  readiness: readinessSchema.nullable().optional(),
  stop_signal: z
    .enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'])
    .optional()
    .meta({ description: 'How it is asked to end; SIGTERM.' }),
  grace_seconds: z.int().min(0).max(3600).optional().meta({ description: 'After which it is killed; 10.' }),
}

/** `PUT B/services/{service}`: what is left out is as by default. */
export const putServiceBodySchema = z.strictObject({ ...SPEC, tags: tagsSchema.optional() }).meta({ id: 'PutService' })

/** What a service is, all defaults applied. */
export const serviceSpecSchema = z
  .looseObject({
    command: z.array(z.string()),
    env: z.record(z.string(), z.string()).meta({ description: 'Shown to those who may write.' }),
    cwd: z.string().nullable(),
    user: z.string().nullable(),
    port: z.int().nullable(),
    needs: z.array(nameSchema),
    restart: z.enum(['always', 'on-failure', 'never']),
    readiness: z.looseObject({}).nullable(),
    stop_signal: z.string(),
    grace_seconds: z.int(),
  })
  .meta({ id: 'ServiceSpec' })

/** One that runs, ran, or is to run. */
const instanceSchema = z
  .looseObject({
    alive: z.boolean(),
    pid: z.int().nullable().meta({ description: 'In the box.' }),
    port: z.int().nullable(),
    spec: serviceSpecSchema,
    started_at: timestampSchema.nullable(),
    restarts: z.int().meta({ description: 'Since it was last asked to start.' }),
    health: z.enum(['unknown', 'starting', 'healthy', 'unhealthy']),
    last_exit: z
      .looseObject({
        exit_code: z.int().nullable(),
        signal: z.string().nullable(),
        out_of_memory: z.boolean(),
        at: timestampSchema,
      })
      .nullable(),
  })
  .meta({ id: 'ServiceInstance' })

/** One that is tried before it becomes the active one. */
const previewSchema = instanceSchema
  .extend({
    state: z.enum(['starting', 'running', 'failed', 'stopped']),
    message: z
      .string()
      .nullable()
      .meta({ description: 'Why it is in that state; to those with `exec`, the last lines of one that failed.' }),
    isolation: z.enum(['process', 'fork']),
  })
  .meta({ id: 'ServicePreview' })

/** A long-lived program of a box (docs/services.md). */
export const serviceSchema = z
  .looseObject({
    name: nameSchema,
    box: nameSchema,
    project: nameSchema,
    state: z.enum(['stopped', 'starting', 'running', 'stopping', 'failed']),
    message: z.string().nullable().meta({ description: 'Why it is in that state.' }),
    spec: serviceSpecSchema.meta({ description: 'What the next start uses.' }),
    active: instanceSchema.nullable(),
    preview: previewSchema.nullable(),
    previous: instanceSchema.nullable().meta({ description: 'What was active before: for a rollback.' }),
    active_url: z.string().nullable(),
    preview_url: z.string().nullable(),
    published_domains: z.array(z.string()),
    generation: z.int().meta({ description: 'Raised by each change of the spec.' }),
    history: z
      .array(z.looseObject({ at: timestampSchema, what: z.string(), by: z.string().nullable(), generation: z.int() }))
      .meta({ description: 'Newest last, 50 at most.' }),
    tags: tagsSchema,
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Service' })

/** `GET B/services`: by name. */
export const serviceListSchema = z
  .looseObject({ services: z.array(serviceSchema), ...pageFields })
  .meta({ id: 'ServiceList' })

/** The query of `GET B/services`. */
export const serviceListQuery = pageQuery.extend({ prefix: prefixQuery })

/** The path of one service. */
export const serviceParams = z.strictObject({ project: nameSchema, name: nameSchema, service: nameSchema })

/** `POST …/deploy`: what is left out is as in the definition of the service. */
export const deployServiceBodySchema = z
  .strictObject({
    command: SPEC.command.optional(),
    env: SPEC.env.meta({ description: 'In the place of all that the definition has.' }),
    isolation: z
      .enum(['process', 'fork'])
      .default('process')
      .meta({ description: '`fork`: in a copy of the box, with its data volumes read-only.' }),
    snapshot: z.boolean().default(false).meta({
      description: 'In a fork: with copies of the data volumes, which can be written to and are thrown away.',
    }),
    ready_seconds: z
      .int()
      .min(1)
      .max(3600)
      .default(60)
      .meta({ description: 'After which a preview that is not ready has failed.' }),
  })
  .refine(({ isolation, snapshot }) => !snapshot || isolation === 'fork', {
    path: ['snapshot'],
    error: 'is for isolation fork',
  })
  .meta({ id: 'DeployService' })

/** The query of `GET …/logs`. */
export const serviceLogsQuery = z.strictObject({
  version: z
    .enum(['active', 'preview', 'previous'])
    .default('active')
    .meta({ description: 'Whose log; that of the active one goes on when another takes its place.' }),
  offset: integerQuery(0, 999_999_999_999_999)
    .optional()
    .meta({ description: 'Bytes of the log to leave out; the last `max_bytes` if left out.' }),
  max_bytes: integerQuery(1, 1_048_576).default(65_536).meta({ description: 'The most to answer.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Of data.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for what comes after the offset.'),
})

/** A piece of what a service wrote, to stdout and stderr alike. */
export const serviceLogsSchema = z.looseObject(outputPieceFields).meta({ id: 'ServiceLogs' })

export type PutServiceBody = z.infer<typeof putServiceBodySchema>
export type DeployServiceBody = z.infer<typeof deployServiceBodySchema>
export type ServiceSpecView = z.infer<typeof serviceSpecSchema>
export type ServiceView = z.infer<typeof serviceSchema>
export type ServiceListQuery = z.infer<typeof serviceListQuery>
export type ServiceLogsQuery = z.infer<typeof serviceLogsQuery>

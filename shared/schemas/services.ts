import * as z from 'zod'
import {
  DEFINITION_BYTES,
  definitionBytes,
  environmentSchema,
  integerQuery,
  nameSchema,
  pageFields,
  pageQuery,
  prefixQuery,
  protocolSchema,
  tagsSchema,
  timestampSchema,
  waitSeconds,
} from './common.ts'
import { argumentSchema, cwdSchema, outputPieceFields, userSchema } from './exec.ts'
import { forbid } from './field-rules.ts'
import { readinessSchema } from './readiness.ts'

/** Entries of a service's history. */
export const SERVICE_HISTORY_MAX = 50

/** The fault of a definition that exceeds `definition_bytes`. */
export const DEFINITION_TOO_LONG = `environment and commands together must be at most ${DEFINITION_BYTES} bytes as JSON`

const SPEC = {
  command: z
    .array(argumentSchema)
    .min(1)
    .max(4096)
    .refine((all) => all.reduce((sum, { length }) => sum + length, 0) <= 65_536, {
      error: 'must be at most 65536 characters in all',
    })
    .meta({ description: 'Program and arguments, at most 65,536 characters in total.' }),
  env: environmentSchema.optional(),
  cwd: cwdSchema
    .nullable()
    .optional()
    .meta({ description: 'Absolute path of the working directory. Null and default: the home directory of the user.' }),
  user: userSchema.nullable().optional().meta({
    description: 'User in the box, by name or number, optionally with `:group`. Null and default: root.',
  }),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .nullable()
    .optional()
    .meta({ description: 'Port the service listens on, passed to it as `PORT`. 0 and null for none.' }),
  protocol: protocolSchema.nullable().optional(),
  needs: z
    .array(nameSchema)
    .max(32)
    .optional()
    .meta({ description: 'Services of the box that must be ready before this one starts.' }),
  restart: z
    .enum(['always', 'on-failure', 'never'])
    .optional()
    .meta({ description: 'When to restart the service after it exits. Default: `always`.' }),
  readiness: readinessSchema
    .nullable()
    .optional()
    .meta({ description: 'Readiness probe. Without one, the service is ready as soon as it runs.' }),
  stop_signal: z
    .enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'])
    .optional()
    .meta({ description: 'Signal that asks the service to stop. Default: SIGTERM.' }),
  grace_seconds: z
    .int()
    .min(0)
    .max(3600)
    .optional()
    .meta({ description: 'Seconds between the stop signal and SIGKILL. Default: 10.' }),
}

/** The body of `PUT B/services/{service}`. Omitted fields get their defaults. */
export const putServiceBodySchema = z
  .strictObject({ ...SPEC, tags: tagsSchema.optional() })
  .refine(({ command, env, readiness }) => definitionBytes(command, env, readiness?.command) <= DEFINITION_BYTES, {
    path: ['env'],
    error: DEFINITION_TOO_LONG,
  })
  .meta({ id: 'PutService' })

/** The definition of a service, with all defaults applied. */
export const serviceSpecSchema = z
  .looseObject({
    command: z.array(z.string()).meta({ description: 'Program and arguments.' }),
    env: z.record(z.string(), z.string()).meta({ description: 'Shown to tokens with `write`, else empty.' }),
    cwd: z.string().nullable().meta({ description: 'Working directory. Null for the home directory of the user.' }),
    user: z.string().nullable().meta({ description: 'User in the box, with an optional `:group`. Null for root.' }),
    port: z.int().nullable().meta({ description: 'Port the service should listen on. Null for none.' }),
    protocol: protocolSchema,
    needs: z.array(nameSchema).meta({ description: 'Services of the box that must be ready before this one starts.' }),
    restart: z
      .enum(['always', 'on-failure', 'never'])
      .meta({ description: 'When to restart the service after it exits.' }),
    readiness: z
      .looseObject({})
      .nullable()
      .meta({ description: 'Readiness probe, with the fields from the request. Null for none.' }),
    stop_signal: z.string().meta({ description: 'Signal that asks the service to stop.' }),
    grace_seconds: z.int().meta({ description: 'Seconds between the stop signal and SIGKILL.' }),
  })
  .meta({ id: 'ServiceSpec' })

/** A version of a service. */
const instanceSchema = z
  .looseObject({
    alive: z.boolean().meta({ description: 'Whether its process is running.' }),
    pid: z
      .int()
      .nullable()
      .meta({ description: 'Process id in the box. Null if the process does not run, or the id is not known.' }),
    port: z.int().nullable().meta({
      description: 'Port passed to the process as `PORT`, which may differ from the port in `spec`. Null for none.',
    }),
    spec: serviceSpecSchema.meta({ description: 'Definition of this version.' }),
    started_at: timestampSchema.nullable().meta({ description: 'When it last started. Null before the first start.' }),
    restarts: z.int().meta({ description: 'Restarts since the last start by a request.' }),
    health: z.enum(['unknown', 'starting', 'healthy', 'unhealthy']).meta({
      description:
        'Result of the readiness probe: `starting` until the first success, `unhealthy` after `threshold` consecutive failures. `unknown` without a probe, or while the service does not run.',
    }),
    last_exit: z
      .looseObject({
        exit_code: z
          .int()
          .nullable()
          .meta({ description: 'Exit code. Null if a signal ended the process, or its end was not observed.' }),
        signal: z
          .string()
          .nullable()
          .meta({ description: 'Signal that ended the process. Null if it exited, or its end was not observed.' }),
        out_of_memory: z.boolean().meta({ description: 'Whether the memory limit of the box killed it.' }),
        at: timestampSchema,
      })
      .nullable()
      .meta({ description: 'How its last process ended. Null if none has ended.' }),
  })
  .meta({ id: 'ServiceInstance' })

/** A version that runs beside the active one until it is promoted or discarded. */
const previewSchema = instanceSchema
  .extend({
    state: z
      .enum(['starting', 'running', 'failed', 'stopped'])
      .meta({ description: '`failed`: it ended, or was not ready in time. `stopped`: its box does not run.' }),
    message: z.string().nullable().meta({
      description: 'Why it has this state. If it failed, includes the last lines of output for callers with `exec`.',
    }),
    isolation: z
      .enum(['process', 'fork'])
      .meta({ description: '`process`: it runs in the box. `fork`: it runs in a copy of the box.' }),
  })
  .meta({ id: 'ServicePreview' })

/** A long-lived program of a box (docs/services.md). */
export const serviceSchema = z
  .looseObject({
    name: nameSchema,
    box: nameSchema,
    project: nameSchema,
    state: z.enum(['stopped', 'starting', 'running', 'stopping', 'failed']).meta({
      description:
        '`starting` until ready. `stopped`: on request, because its box does not run, or after exit code 0 without a restart; `failed`: it ended in another way.',
    }),
    message: z.string().nullable().meta({ description: 'Why the service has this state.' }),
    spec: serviceSpecSchema.meta({ description: 'Definition that the next start uses.' }),
    active: instanceSchema
      .nullable()
      .meta({ description: 'Version that receives requests. Null before the first start.' }),
    preview: previewSchema
      .nullable()
      .meta({ description: 'Version deployed beside the active one, until you promote or discard it. Null for none.' }),
    previous: instanceSchema
      .nullable()
      .meta({ description: 'Previously active version, kept for a rollback. Null for none.' }),
    active_url: z.string().nullable().meta({ description: 'URL of the active version. Null if it has no port.' }),
    preview_url: z
      .string()
      .nullable()
      .meta({ description: 'URL of the preview. Null if there is no preview, it has no port, or it failed.' }),
    published_domains: z
      .array(z.string())
      .meta({ description: 'Custom domains that serve the active version in addition to its URL.' }),
    generation: z.int().meta({ description: 'Increases with every change to `spec` or `tags`.' }),
    history: z
      .array(
        z.looseObject({
          at: timestampSchema,
          action: z.string().meta({
            description:
              '`created`, `changed`, `started`, `stopped`, `deployed`, `promoted`, `rolled_back`, `discarded`, `preview_failed`, `promote_failed` or `rollback_failed`.',
          }),
          actor: z
            .string()
            .nullable()
            .meta({ description: 'Name of the token that made the change. Null if no request made it.' }),
          generation: z.int().meta({ description: '`generation` after the change.' }),
        }),
      )
      .meta({ description: 'Newest last, at most 50 entries.' }),
    tags: tagsSchema.meta({ description: 'Tags that clients set.' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Service' })

/** The answer of `GET B/services`, ordered by name. */
export const serviceListSchema = z
  .looseObject({ services: z.array(serviceSchema), ...pageFields })
  .meta({ id: 'ServiceList' })

/** The query of `GET B/services`. */
export const serviceListQuery = pageQuery.extend({ prefix: prefixQuery })

/** The path of one service. */
export const serviceParams = z.strictObject({ project: nameSchema, name: nameSchema, service: nameSchema })

/** The body of `POST …/deploy`. Omitted fields keep their value in the service's definition. */
export const deployServiceBodySchema = z
  .strictObject({
    command: SPEC.command.optional(),
    env: SPEC.env.meta({ description: 'Replaces the whole environment from the definition.' }),
    isolation: z
      .enum(['process', 'fork'])
      .default('process')
      .meta({ description: 'With `fork`, the preview runs in a copy of the box, with its data volumes read-only.' }),
    copy_data: z.boolean().default(false).meta({
      description: 'In a fork, mounts writable copies of the data volumes. They are deleted with the fork.',
    }),
    ready_seconds: z
      .int()
      .min(1)
      .max(3600)
      .default(60)
      .meta({ description: 'Seconds for the preview to become ready after its start. After that, it has failed.' }),
  })
  .refine(({ command, env }) => definitionBytes(command, env) <= DEFINITION_BYTES, {
    path: ['env'],
    error: DEFINITION_TOO_LONG,
  })
  .refine(({ isolation, copy_data }) => !copy_data || isolation === 'fork', {
    path: ['copy_data'],
    error: 'is for isolation fork',
  })
  .meta({
    id: 'DeployService',
    override: forbid({
      ...{ required: ['copy_data'], properties: { copy_data: { const: true } } },
      not: { required: ['isolation'], properties: { isolation: { const: 'fork' } } },
    }),
  })

/** The query of `GET …/logs`. */
export const serviceLogsQuery = z.strictObject({
  version: z.enum(['active', 'preview', 'previous']).default('active').meta({
    description: 'Version to read the log of. The log of the active version continues across promotions and rollbacks.',
  }),
  offset: integerQuery(0, 999_999_999_999_999)
    .optional()
    .meta({ description: 'Offset in bytes. Default: `max_bytes` before the end.' }),
  max_bytes: integerQuery(1, 1_048_576).default(65_536).meta({ description: 'Maximum number of bytes to return.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Encoding of `data`.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for output after the offset.'),
})

/** A piece of a log, with stdout and stderr in one. */
export const serviceLogsSchema = z.looseObject(outputPieceFields).meta({ id: 'ServiceLogs' })

export type PutServiceBody = z.infer<typeof putServiceBodySchema>
export type DeployServiceBody = z.infer<typeof deployServiceBodySchema>
export type ServiceSpecView = z.infer<typeof serviceSpecSchema>
export type ServiceView = z.infer<typeof serviceSchema>
export type ServiceListQuery = z.infer<typeof serviceListQuery>
export type ServiceLogsQuery = z.infer<typeof serviceLogsQuery>

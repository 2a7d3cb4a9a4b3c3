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
import { forbid, notExactlyOne } from './field-rules.ts'

/** Entries of a service's history. */
export const SERVICE_HISTORY_MAX = 50

const probeCommand = z.array(argumentSchema).min(1).max(256)

/** A readiness probe, with exactly one of `http`, `tcp` and `command`; without a probe a service is ready as soon as it runs. */
const readinessSchema = z
  .strictObject({
    http: z
      .string()
      .max(2048)
      .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
      .optional()
      .meta({ description: 'A path to GET at its port: a status from 200 to 399 succeeds.' }),
    tcp: z.literal(true).optional().meta({ description: 'A connection to its port succeeds.' }),
    command: probeCommand
      .optional()
      .meta({ description: 'Run in the box as the user of the service: exit code 0 succeeds.' }),
    interval_seconds: z
      .number()
      .min(0.1)
      .max(300)
      .optional()
      .meta({ description: 'Seconds between probes; 1 by default.' }),
    timeout_seconds: z
      .number()
      .min(0.1)
      .max(60)
      .optional()
      .meta({ description: 'Seconds until a probe fails; 2 by default.' }),
    threshold: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Failed probes in a row that make it unhealthy; 3 by default.' }),
  })
  .refine(({ http, tcp, command }) => [http, tcp, command].filter((one) => one !== undefined).length === 1, {
    error: 'exactly one of http, tcp and command',
  })
  .meta({ override: forbid(...notExactlyOne('http', 'tcp', 'command')) })

/** Tells that a service says too much; see `definition_bytes`. */
export const DEFINITION_TOO_LONG = `environment and commands together must be at most ${DEFINITION_BYTES} bytes as JSON`

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
    .meta({ description: 'The port on which it listens, which it gets as `PORT`. 0 and null: none.' }),
  protocol: protocolSchema.nullable().optional(),
  needs: z
    .array(nameSchema)
    .max(32)
    .optional()
    .meta({ description: 'Services of the box that have to be ready before it starts.' }),
  restart: z
    .enum(['always', 'on-failure', 'never'])
    .optional()
    .meta({ description: 'When it is restarted after its end; `always` by default.' }),
  readiness: readinessSchema.nullable().optional(),
  stop_signal: z
    .enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'])
    .optional()
    .meta({ description: 'Signal that asks it to end; SIGTERM by default.' }),
  grace_seconds: z
    .int()
    .min(0)
    .max(3600)
    .optional()
    .meta({ description: 'Seconds from the stop signal until it is killed; 10 by default.' }),
}

/** The body of `PUT B/services/{service}`; fields that are left out get their defaults. */
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
    cwd: z.string().nullable().meta({ description: 'Working directory; null: the home of the user.' }),
    user: z.string().nullable().meta({ description: 'User of the box, maybe with `:group`; null: root.' }),
    port: z.int().nullable().meta({ description: 'Port on which it is to listen; null: none.' }),
    protocol: protocolSchema,
    needs: z.array(nameSchema).meta({ description: 'Services of the box that have to be ready before it starts.' }),
    restart: z.enum(['always', 'on-failure', 'never']).meta({ description: 'When it is restarted after its end.' }),
    readiness: z
      .looseObject({})
      .nullable()
      .meta({ description: 'Readiness probe, with the fields of the request; null: none.' }),
    stop_signal: z.string().meta({ description: 'Signal that asks it to end.' }),
    grace_seconds: z.int().meta({ description: 'Seconds from the stop signal until it is killed.' }),
  })
  .meta({ id: 'ServiceSpec' })

/** A version of a service. */
const instanceSchema = z
  .looseObject({
    alive: z.boolean().meta({ description: 'Whether its process runs.' }),
    pid: z.int().nullable().meta({ description: 'Pid in the box; null if it does not run, or is not known.' }),
    port: z
      .int()
      .nullable()
      .meta({ description: 'Port that it got as `PORT`, which may differ from that of `spec`; null: none.' }),
    spec: serviceSpecSchema.meta({ description: 'Definition of this version.' }),
    started_at: timestampSchema.nullable().meta({ description: 'Its last start; null before the first.' }),
    restarts: z.int().meta({ description: 'Restarts since the last start by a request.' }),
    health: z.enum(['unknown', 'starting', 'healthy', 'unhealthy']).meta({
      description:
        'Result of the readiness probe: `starting` until it succeeds, `unhealthy` after `threshold` failures in a row; `unknown` without a probe, or while it does not run.',
    }),
    last_exit: z
      .looseObject({
        exit_code: z.int().nullable().meta({ description: 'Null if a signal ended it, or its end was not observed.' }),
        signal: z
          .string()
          .nullable()
          .meta({ description: 'Signal that ended it; null if it exited, or its end was not observed.' }),
        out_of_memory: z.boolean().meta({ description: 'Whether it was killed by the memory limit of the box.' }),
        at: timestampSchema,
      })
      .nullable()
      .meta({ description: 'How its process ended last; null if none has ended.' }),
  })
  .meta({ id: 'ServiceInstance' })

/** A version that runs beside the active one until it is promoted or discarded. */
const previewSchema = instanceSchema
  .extend({
    state: z
      .enum(['starting', 'running', 'failed', 'stopped'])
      .meta({ description: '`failed`: it ended, or was not ready in time; `stopped`: its box does not run.' }),
    message: z
      .string()
      .nullable()
      .meta({ description: 'Why it is in that state; to callers with `exec`, the last lines of output if it failed.' }),
    isolation: z
      .enum(['process', 'fork'])
      .meta({ description: '`process`: it runs in the box; `fork`: in a copy of it.' }),
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
        '`starting` until it is ready; `stopped`: on request, because its box does not run, or after exit code 0 without a restart; `failed`: it ended otherwise.',
    }),
    message: z.string().nullable().meta({ description: 'Why it is in that state.' }),
    spec: serviceSpecSchema.meta({ description: 'The definition that its next start uses.' }),
    active: instanceSchema
      .nullable()
      .meta({ description: 'Version that gets the requests; null before its first start.' }),
    preview: previewSchema
      .nullable()
      .meta({ description: 'Version that was deployed beside it, until it is promoted or discarded; null: none.' }),
    previous: instanceSchema
      .nullable()
      .meta({ description: 'The version that was active before, for a rollback; null: none.' }),
    active_url: z.string().nullable().meta({ description: 'URL of the active version; null if it has no port.' }),
    preview_url: z
      .string()
      .nullable()
      .meta({ description: 'URL of the preview; null if there is none, it has no port, or it has failed.' }),
    published_domains: z
      .array(z.string())
      .meta({ description: 'Domains at which the active version is served beside its URL.' }),
    generation: z.int().meta({ description: 'Increases with each change of `spec` or `tags`.' }),
    history: z
      .array(
        z.looseObject({
          at: timestampSchema,
          what: z.string().meta({
            description:
              '`created`, `changed`, `started`, `stopped`, `deployed`, `promoted`, `rolled_back`, `discarded`, `preview_failed`, `promote_failed` or `rollback_failed`.',
          }),
          by: z.string().nullable().meta({ description: 'Name of the token; null: no request did it.' }),
          generation: z.int().meta({ description: '`generation` after the change.' }),
        }),
      )
      .meta({ description: 'Newest last, 50 at most.' }),
    tags: tagsSchema.meta({ description: 'Set by clients.' }),
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

/** The body of `POST …/deploy`; fields that are left out are as in the definition of the service. */
export const deployServiceBodySchema = z
  .strictObject({
    command: SPEC.command.optional(),
    env: SPEC.env.meta({ description: 'Replaces the whole environment of the definition.' }),
    isolation: z
      .enum(['process', 'fork'])
      .default('process')
      .meta({ description: '`fork`: in a copy of the box, with its data volumes read-only.' }),
    snapshot: z.boolean().default(false).meta({
      description: 'In a fork: mounts writable copies of the data volumes, which are deleted with the fork.',
    }),
    ready_seconds: z
      .int()
      .min(1)
      .max(3600)
      .default(60)
      .meta({ description: 'Seconds from its start within which the preview must be ready; then it has failed.' }),
  })
  .refine(({ command, env }) => definitionBytes(command, env) <= DEFINITION_BYTES, {
    path: ['env'],
    error: DEFINITION_TOO_LONG,
  })
  .refine(({ isolation, snapshot }) => !snapshot || isolation === 'fork', {
    path: ['snapshot'],
    error: 'is for isolation fork',
  })
  .meta({
    id: 'DeployService',
    override: forbid({
      ...{ required: ['snapshot'], properties: { snapshot: { const: true } } },
      not: { required: ['isolation'], properties: { isolation: { const: 'fork' } } },
    }),
  })

/** The query of `GET …/logs`. */
export const serviceLogsQuery = z.strictObject({
  version: z.enum(['active', 'preview', 'previous']).default('active').meta({
    description: 'Version whose log to read; that of the active one continues over promotions and rollbacks.',
  }),
  offset: integerQuery(0, 999_999_999_999_999)
    .optional()
    .meta({ description: 'Offset in bytes; `max_bytes` before the end by default.' }),
  max_bytes: integerQuery(1, 1_048_576).default(65_536).meta({ description: 'Most bytes to return.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'The encoding of `data`.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for output after the offset.'),
})

/** A piece of a log: stdout and stderr in one. */
export const serviceLogsSchema = z.looseObject(outputPieceFields).meta({ id: 'ServiceLogs' })

export type PutServiceBody = z.infer<typeof putServiceBodySchema>
export type DeployServiceBody = z.infer<typeof deployServiceBodySchema>
export type ServiceSpecView = z.infer<typeof serviceSpecSchema>
export type ServiceView = z.infer<typeof serviceSchema>
export type ServiceListQuery = z.infer<typeof serviceListQuery>
export type ServiceLogsQuery = z.infer<typeof serviceLogsQuery>

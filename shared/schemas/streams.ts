import * as z from 'zod'
import { booleanQuery, idSchema, integerQuery, nameSchema, pageFields, timestampSchema } from './common.ts'
import { argumentSchema, cwdSchema, userSchema } from './exec.ts'

/** The operations that a ticket may be for. */
const TICKETED = [
  'streamExec',
  'openConsole',
  'readFile',
  'writeFile',
  'listFiles',
  'readArchive',
  'writeArchive',
  'getServiceLogs',
] as const

const cells = integerQuery(1, 65_535)

/** The query of `GET B/exec/ws`: that of the Kubernetes exec endpoint, and what `POST B/exec` takes (docs/streams.md#commands-over-a-websocket). */
export const execStreamQuery = z.strictObject({
  command: z
    .union([argumentSchema.transform((one) => [one]), z.array(argumentSchema).min(1).max(4096)])
    .meta({ description: 'Program and arguments, repeated.', override: { type: 'array', items: { type: 'string' } } }),
  stdin: booleanQuery(false, 'Whether what the client sends goes to the command.'),
  stdout: booleanQuery(true, 'Whether stdout is sent.'),
  stderr: booleanQuery(true, 'Whether stderr is sent; a terminal has none.'),
  tty: booleanQuery(false, 'Whether the command gets a terminal.'),
  container: z.string().max(253).optional().meta({ description: 'Taken and not heeded: Kubernetes clients send it.' }),
  cwd: cwdSchema.optional(),
  user: userSchema.optional(),
  env: z
    .union([z.string().transform((one) => [one]), z.array(z.string()).max(512)])
    .default([])
    .refine((all) => all.every((one) => VARIABLE.test(one)), 'must be NAME=VALUE')
    .meta({ description: '`NAME=VALUE`, repeated.', override: { type: 'array', items: { type: 'string' } } }),
  cols: cells.default(80).meta({ description: 'Width of the terminal in characters.' }),
  rows: cells.default(24).meta({ description: 'Height of the terminal in characters.' }),
  no_hup: booleanQuery(false, 'Whether the command goes on when its client leaves.'),
  timeout_seconds: z
    .string()
    .regex(/^\d{1,7}(\.\d{1,3})?$/, 'must be a number of seconds')
    .transform(Number)
    .refine((value) => value >= 0.001 && value <= 2_147_483, 'must be from 0.001 to 2147483')
    .optional()
    .meta({ description: 'Kills the command after this time.', override: { type: 'number' } }),
})

/** The query of `GET B/console`. */
export const consoleQuery = z.strictObject({
  session: nameSchema.default('main').meta({ description: 'Its name; one that is not there is begun.' }),
  shell: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .meta({ description: 'The program of a new session; bash where the box has it, else sh.' }),
  user: userSchema.optional(),
  cwd: cwdSchema.optional(),
  cols: cells.default(80).meta({ description: 'Width of the terminal in characters.' }),
  rows: cells.default(24).meta({ description: 'Height of the terminal in characters.' }),
  typing: z.enum(['all', 'one', 'none']).default('all').meta({
    description: '`all`: types with the others; `one`: alone, until it leaves; `none`: watches.',
  }),
})

/** A console session that runs. */
export const sessionSchema = z
  .looseObject({
    id: idSchema,
    name: nameSchema,
    box: nameSchema,
    project: nameSchema,
    command: z.array(z.string()),
    user: z.string(),
    process: z.int().nullable().meta({ description: 'The pid in the box.' }),
    created_at: timestampSchema,
    cols: z.int(),
    rows: z.int(),
    viewers: z.int().meta({ description: 'Clients attached now.' }),
  })
  .meta({ id: 'Session' })

/** `GET B/sessions`. */
export const sessionListSchema = z
  .looseObject({ sessions: z.array(sessionSchema), ...pageFields })
  .meta({ id: 'SessionList' })

/** The path of one session, by name or id. */
export const sessionParams = z.strictObject({
  project: nameSchema,
  name: nameSchema,
  session: z.union([nameSchema, idSchema], { error: 'must be the name or the id of a session' }),
})

/** `POST B/tickets`. */
export const ticketBodySchema = ticketBodyOf(TICKETED)
  .extend({ service: nameSchema.optional().meta({ description: 'With `getServiceLogs`: whose.' }) })
  .meta({ id: 'TicketRequest' })

/** `POST P/tickets`, for what is of no box. */
export const projectTicketBodySchema = ticketBodyOf(['createBase', 'listEvents']).meta({ id: 'ProjectTicketRequest' })

/** A ticket: `url` is good once, and for 60 s. */
export const ticketSchema = z
  .looseObject({
    url: z.string().optional().meta({ description: 'Where to send the request; a replay leaves it out.' }),
    method: z.string(),
    expires_at: timestampSchema,
  })
  .meta({ id: 'Ticket' })

function ticketBodyOf<const T extends string>(ticketed: readonly T[]) {
  return z.strictObject({
    operation: z.enum(ticketed).meta({ description: 'The `operationId` of what the ticket is for.' }),
    query: z
      .record(z.string().max(64), z.union([z.string().max(16_384), z.array(z.string().max(16_384)).max(4096)]))
      .refine((query) => Object.keys(query).length <= 32, 'at most 32 names')
      .optional()
      .meta({ description: 'The query of that operation, which the ticket is bound to.' }),
  })
}

// The value is bounded as in `POST B/exec`.
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}=[^\0]{0,32768}$/

export type ExecStreamQuery = z.output<typeof execStreamQuery>
export type ConsoleQuery = z.output<typeof consoleQuery>
export type Session = z.infer<typeof sessionSchema>
export type BoxTicketBody = z.infer<typeof ticketBodySchema>
export type TicketBody = z.infer<typeof ticketBodySchema | typeof projectTicketBodySchema>

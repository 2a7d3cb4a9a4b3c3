import * as z from 'zod'
import {
  booleanQuery,
  environmentSchema,
  idSchema,
  integerQuery,
  nameSchema,
  pageFields,
  pageQuery,
  timestampSchema,
  waitSeconds,
} from './common.ts'

/** Signals that may be sent to a command. */
const SIGNALS = [
  ...([
    'SIGHUP',
    'SIGINT',
    'SIGQUIT',
    'SIGKILL',
    'SIGUSR1',
    'SIGUSR2',
    'SIGALRM',
    'SIGTERM',
    'SIGCONT',
    'SIGSTOP',
  ] as const),
  ...(['SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGWINCH', 'SIGABRT', 'SIGCHLD', 'SIGPIPE'] as const),
] as const

/** A program or an argument. */
export const argumentSchema = z
  .string()
  .max(131_071)
  .regex(/^[^\0]*$/, 'must not hold a NUL character')

/** The working directory of a command. */
export const cwdSchema = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, 'must be an absolute path')
  .meta({ description: 'Absolute directory; the home of the user if left out.' })

/** The user that a command runs as. */
export const userSchema = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/, 'must be user or user:group')
  .meta({ description: 'A name or number of the box, optionally `:group`; root if left out.' })

// Records store the command, and lists return it.
const COMMAND_CHARACTERS = 262_144

/** `POST B/exec`: exactly one of `command` and `shell`. */
export const execBodySchema = z
  .strictObject({
    command: z
      .array(argumentSchema)
      .min(1)
      .max(4096)
      .refine((command) => command.reduce((sum, { length }) => sum + length, 0) <= COMMAND_CHARACTERS, {
        error: `must be at most ${COMMAND_CHARACTERS} characters in all`,
      })
      .optional()
      .meta({ description: 'Program and arguments, at most 262,144 characters in all; more goes into stdin.' }),
    shell: argumentSchema.min(1).optional().meta({ description: 'A command line for `/bin/sh -c`.' }),
    cwd: cwdSchema.optional(),
    env: environmentSchema.optional(),
    user: userSchema.optional(),
    stdin: z.string().optional().meta({ description: 'Text, or base64 with `encoding: "base64"`.' }),
    tty: z
      .boolean()
      .optional()
      .meta({ description: 'Whether it gets a terminal, of 80 by 24; its output is all stdout then.' }),
    no_hup: z.boolean().optional().meta({
      description: 'Goes on when the service restarts, and keeps its exit code; answers once it has started.',
    }),
    timeout_seconds: z
      .number()
      .min(0.001)
      .max(2_147_483)
      .optional()
      .meta({ description: 'Kills the whole process group after this time; none if left out.' }),
    encoding: z
      .enum(['utf-8', 'base64'])
      .optional()
      .meta({ description: 'Of stdin, stdout and stderr in JSON; utf-8 if left out.' }),
  })
  .refine((body) => (body.command === undefined) !== (body.shell === undefined), {
    error: 'exactly one of command and shell is needed',
  })
  .meta({ id: 'ExecRequest' })

/** The status of a command. A lost stream is `lost`, never an invented exit code. */
export const execStatusSchema = z
  .enum(['running', 'exited', 'killed', 'timed_out', 'out_of_memory', 'lost'])
  .meta({ id: 'ExecStatus' })

/** A command without its output, as in lists (docs/api/resources.md#exec). */
export const execRecordSchema = z
  .looseObject({
    id: idSchema,
    box: nameSchema,
    project: nameSchema,
    command: z.array(z.string()),
    status: execStatusSchema,
    exit_code: z
      .int()
      .nullable()
      .meta({ description: 'Null while it runs, where a signal ended it, and where nobody saw its end.' }),
    signal: z.string().nullable().meta({ description: 'That ended it, such as `SIGKILL`.' }),
    started_at: timestampSchema,
    ended_at: timestampSchema.nullable(),
    tty: z.boolean(),
    user: z.string(),
    cwd: z.string(),
    detached: z.boolean().meta({ description: 'Whether it was started with `no_hup`.' }),
    process: z.int().nullable().meta({ description: 'The pid in the box.' }),
  })
  .meta({ id: 'ExecRecord' })

/** A command and its output so far. */
export const execSchema = execRecordSchema
  .extend({
    stdout: z.string().meta({ description: 'The last 1 MiB.' }),
    stderr: z.string().meta({ description: 'The last 1 MiB.' }),
    encoding: z.enum(['utf-8', 'base64']).meta({ description: 'Of `stdout` and `stderr`.' }),
    truncated: z.boolean().meta({ description: 'Whether earlier output of a stream is left out.' }),
    next_offset: z
      .looseObject({ stdout: z.int(), stderr: z.int() })
      .meta({ description: 'Bytes each stream has written in all.' }),
  })
  .meta({ id: 'Exec' })

/** `GET B/exec`: newest last, without output. */
export const execListSchema = z
  .looseObject({ execs: z.array(execRecordSchema), ...pageFields })
  .meta({ id: 'ExecList' })

/** The query of `GET B/exec`. */
export const execListQuery = pageQuery.extend({ status: execStatusSchema.optional() })

/** The query of `POST B/exec`. */
export const execQuery = z.strictObject({
  wait_seconds: integerQuery(0, 25)
    .optional()
    .meta({ description: 'Seconds to wait for the end; 20 if left out, 0 with `no_hup`.' }),
})

/** The query of `GET B/exec/{id}/output`. */
export const execOutputQuery = z.strictObject({
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
  offset: integerQuery(0, 999_999_999_999_999).default(0).meta({ description: 'Bytes of the stream to leave out.' }),
  max_bytes: integerQuery(1, 1_048_576).default(1_048_576).meta({ description: 'The most to answer.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Of data.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for output beyond the offset, or the end.'),
})

/** Kept output bytes, from an offset on. */
export const outputPieceFields = {
  offset: z
    .int()
    .meta({ description: 'Of the first byte of data: later than asked for where that is no longer kept.' }),
  next_offset: z.int().meta({ description: 'Where to go on.' }),
  data: z.string(),
  encoding: z.enum(['utf-8', 'base64']),
  truncated: z.boolean().meta({ description: 'Whether bytes from the asked offset on are no longer kept.' }),
}

/** A piece of a stream. */
export const execOutputSchema = z
  .looseObject({
    stream: z.enum(['stdout', 'stderr']),
    ...outputPieceFields,
    end: z.boolean().meta({ description: 'Whether nothing comes after next_offset any more.' }),
    status: execStatusSchema,
  })
  .meta({ id: 'ExecOutput' })

/** `POST B/exec/{id}/signal`. */
export const execSignalBodySchema = z.strictObject({ signal: z.enum(SIGNALS) }).meta({ id: 'ExecSignal' })

/** The path of one exec. */
export const execParams = z.strictObject({ project: nameSchema, name: nameSchema, exec: idSchema })

/** The query of `GET B/exec/{id}`. */
export const execGetQuery = z.strictObject({
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Of stdout and stderr.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for the command to end.'),
})

const cells = integerQuery(1, 65_535)

/** The query of `GET B/exec/ws`: that of the Kubernetes exec endpoint, and what `POST B/exec` takes (docs/exec.md#commands-over-a-websocket). */
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

/** A running console session. */
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

// The value is bounded as in `POST B/exec`.
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}=[^\0]{0,32768}$/

export type ExecListQuery = z.infer<typeof execListQuery>
export type ExecOutputQuery = z.infer<typeof execOutputQuery>
export type ExecOutputView = z.infer<typeof execOutputSchema>
export type ExecRecordView = z.infer<typeof execRecordSchema>
export type ExecBody = z.infer<typeof execBodySchema>
export type Exec = z.infer<typeof execSchema>
export type ExecStatus = z.infer<typeof execStatusSchema>
export type ExecStreamQuery = z.output<typeof execStreamQuery>
export type ConsoleQuery = z.output<typeof consoleQuery>
export type Session = z.infer<typeof sessionSchema>

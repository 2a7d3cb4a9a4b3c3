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
import { forbid, notExactlyOne } from './field-rules.ts'

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
  .meta({ description: 'Absolute working directory; the home of the user by default.' })

/** The user that a command runs as. */
export const userSchema = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/, 'must be user or user:group')
  .meta({ description: 'User of the box, by name or number, optionally with `:group`; root by default.' })

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
      .meta({ description: 'Runs it in a terminal of 80 by 24; all its output is stdout then.' }),
    no_hup: z.boolean().optional().meta({
      description: 'Survives a restart of the service and keeps its exit code; the answer comes once it has started.',
    }),
    timeout_seconds: z
      .number()
      .min(0.001)
      .max(2_147_483)
      .optional()
      .meta({ description: 'Kills the whole process group after this time; no time-out by default.' }),
    encoding: z
      .enum(['utf-8', 'base64'])
      .optional()
      .meta({ description: 'Encoding of stdin, stdout and stderr in JSON; utf-8 by default.' }),
  })
  .refine((body) => (body.command === undefined) !== (body.shell === undefined), {
    error: 'exactly one of command and shell is needed',
  })
  .meta({ id: 'ExecRequest', override: forbid(...notExactlyOne('command', 'shell')) })

/** The status of a command. A lost stream is `lost`, never an invented exit code. */
export const execStatusSchema = z.enum(['running', 'exited', 'killed', 'timed_out', 'out_of_memory', 'lost']).meta({
  id: 'ExecStatus',
  description:
    '`killed`: ended by a signal; `timed_out`, `out_of_memory`: killed for that; `lost`: its end was not observed.',
})

const REPLACED = 'In `utf-8`, U+FFFD replaces bytes that are not UTF-8.'

/** A command without its output, as in lists (docs/api/resources.md#exec). */
export const execRecordSchema = z
  .looseObject({
    id: idSchema,
    box: nameSchema,
    project: nameSchema,
    command: z
      .array(z.string())
      .meta({ description: 'Program and arguments; for `shell`: `/bin/sh`, `-c` and the line.' }),
    status: execStatusSchema,
    exit_code: z
      .int()
      .nullable()
      .meta({ description: 'Null while it runs, if a signal ended it, and if its end was not observed.' }),
    signal: z.string().nullable().meta({ description: 'Signal that ended it, such as `SIGKILL`; else null.' }),
    started_at: timestampSchema,
    ended_at: timestampSchema
      .nullable()
      .meta({ description: 'Null while it runs; for `lost`, when that was noticed.' }),
    tty: z.boolean().meta({ description: 'Whether it has a terminal: all its output is stdout then.' }),
    user: z.string().meta({ description: 'User as given in the request; `root` by default.' }),
    cwd: z.string().meta({ description: 'Working directory at its start.' }),
    detached: z.boolean().meta({ description: 'Whether it was started with `no_hup`.' }),
    process: z.int().nullable().meta({ description: 'The pid in the box; null if it is not known.' }),
  })
  .meta({ id: 'ExecRecord' })

/** A command and its output so far. */
export const execSchema = execRecordSchema
  .extend({
    stdout: z.string().meta({ description: 'The last 1 MiB.' }),
    stderr: z.string().meta({ description: 'The last 1 MiB.' }),
    encoding: z.enum(['utf-8', 'base64']).meta({ description: `Encoding of \`stdout\` and \`stderr\`. ${REPLACED}` }),
    truncated: z.boolean().meta({ description: 'Whether earlier output of a stream is left out.' }),
    next_offset: z
      .looseObject({ stdout: z.int(), stderr: z.int() })
      .meta({ description: 'Total bytes written to each stream.' }),
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
    .meta({ description: 'Seconds to wait for the end; 20 by default, 0 with `no_hup`.' }),
})

/** The query of `GET B/exec/{id}/output`. */
export const execOutputQuery = z.strictObject({
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
  offset: integerQuery(0, 999_999_999_999_999).default(0).meta({ description: 'Offset in the stream, in bytes.' }),
  max_bytes: integerQuery(1, 1_048_576).default(1_048_576).meta({ description: 'Most bytes to return.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Encoding of `data`.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for output beyond the offset, or the end.'),
})

/** Kept output bytes, from an offset on. */
export const outputPieceFields = {
  offset: z.int().meta({
    description: 'Offset of the first byte of `data`, in bytes; later than requested if that is no longer kept.',
  }),
  next_offset: z.int().meta({ description: 'Offset of the next request.' }),
  data: z.string().meta({ description: 'Output from `offset` on, encoded as `encoding` says.' }),
  encoding: z.enum(['utf-8', 'base64']).meta({ description: REPLACED }),
  truncated: z.boolean().meta({ description: 'Bytes from the requested offset on are no longer kept.' }),
}

/** A piece of a stream. */
export const execOutputSchema = z
  .looseObject({
    stream: z.enum(['stdout', 'stderr']),
    ...outputPieceFields,
    end: z.boolean().meta({ description: 'No output follows `next_offset`.' }),
    status: execStatusSchema,
  })
  .meta({ id: 'ExecOutput' })

/** `POST B/exec/{id}/signal`. */
export const execSignalBodySchema = z.strictObject({ signal: z.enum(SIGNALS) }).meta({ id: 'ExecSignal' })

/** The path of one exec. */
export const execParams = z.strictObject({ project: nameSchema, name: nameSchema, exec: idSchema })

/** The query of `GET B/exec/{id}`. */
export const execGetQuery = z.strictObject({
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Encoding of stdout and stderr.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for the command to end.'),
})

const cells = integerQuery(1, 65_535)

/** The query of `GET B/exec/ws`: that of the Kubernetes exec endpoint, and what `POST B/exec` takes (docs/exec.md#commands-over-a-websocket). */
export const execStreamQuery = z.strictObject({
  command: z
    .union([argumentSchema.transform((one) => [one]), z.array(argumentSchema).min(1).max(4096)])
    .meta({ description: 'Program and arguments, repeated.', override: { type: 'array', items: { type: 'string' } } }),
  stdin: booleanQuery(false, 'Passes the input of the client to the command.'),
  stdout: booleanQuery(true, 'Sends stdout.'),
  stderr: booleanQuery(true, 'Sends stderr; a terminal has none.'),
  tty: booleanQuery(false, 'Runs the command in a terminal.'),
  container: z.string().max(253).optional().meta({ description: 'Ignored; Kubernetes clients send it.' }),
  cwd: cwdSchema.optional(),
  user: userSchema.optional(),
  env: z
    .union([z.string().transform((one) => [one]), z.array(z.string()).max(512)])
    .default([])
    .refine((all) => all.every((one) => VARIABLE.test(one)), 'must be NAME=VALUE')
    .meta({ description: '`NAME=VALUE`, repeated.', override: { type: 'array', items: { type: 'string' } } }),
  cols: cells.default(80).meta({ description: 'Width of the terminal in characters.' }),
  rows: cells.default(24).meta({ description: 'Height of the terminal in characters.' }),
  no_hup: booleanQuery(false, 'Lets the command go on when its client leaves.'),
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
  session: nameSchema
    .default('main')
    .meta({ description: 'Name of the session, which is started if it does not exist.' }),
  shell: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .meta({ description: 'Program of a new session; by default bash if the box has it, else sh.' }),
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
    command: z.array(z.string()).meta({ description: 'Program of the session, with its arguments.' }),
    user: z.string().meta({ description: 'Login name in the box, or the uid if it has none.' }),
    process: z.int().nullable().meta({ description: 'The pid in the box; null if it is not known.' }),
    created_at: timestampSchema,
    cols: z.int().meta({ description: 'Width of the terminal in characters.' }),
    rows: z.int().meta({ description: 'Height of the terminal in characters.' }),
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
  session: z
    .string()
    .regex(/^(?=.{1,63}$)([a-z0-9]+(-[a-z0-9]+)*|[a-z]{3}_[0-9a-z]{26})$/, 'must be the name or the id of a session'),
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

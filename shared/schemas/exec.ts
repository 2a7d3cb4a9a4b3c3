import * as z from 'zod'
import {
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

/** Bytes of a program or an argument: Linux takes no longer ones (MAX_ARG_STRLEN). */
const ARGUMENT_BYTES = 131_071

/** A program or an argument. */
export const argumentSchema = z
  .string()
  .max(ARGUMENT_BYTES)
  .regex(/^[^\0]*$/, 'must not hold a NUL character')
  .refine((text) => bytesOf(text) <= ARGUMENT_BYTES, {
    error: `must be at most ${ARGUMENT_BYTES} bytes in UTF-8, the most that Linux takes as one argument`,
  })

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

const COMMAND_TEXT =
  'Program and arguments, at most 262,144 bytes in all and 131,071 bytes each; more goes into stdin or a file.'
const ENV_TEXT =
  'Variables by name, at most 262,144 bytes in all as `NAME=VALUE`. `BOX_*` and `BOXYARD_*` are reserved.'
// Records store the command, and lists return it.
const COMMAND_BYTES = 262_144
/** Bytes of the variables of a command, as NAME=VALUE: with the command and the box's own they stay below what Linux takes. */
export const VARIABLES_BYTES = 262_144

/** The words for variables that are longer. */
export const VARIABLES_FAULT = `must be at most ${VARIABLES_BYTES} bytes in all, as NAME=VALUE`

/** A program and its arguments. */
export const commandSchema = z
  .array(argumentSchema)
  .min(1)
  .max(4096)
  .refine((command) => sumOfBytes(command) <= COMMAND_BYTES, {
    error: `must be at most ${COMMAND_BYTES} bytes in all; more goes into stdin or a file`,
  })

/** The variables of a command. */
export const commandEnvironmentSchema = environmentSchema.refine(
  (map) => sumOfBytes(Object.entries(map).map((pair) => pair.join('='))) <= VARIABLES_BYTES,
  { error: VARIABLES_FAULT },
)

/** `POST B/exec`: exactly one of `command` and `shell`. */
export const execBodySchema = z
  .strictObject({
    command: commandSchema.optional().meta({ description: COMMAND_TEXT }),
    shell: argumentSchema.min(1).optional().meta({ description: 'A command line for `/bin/sh -c`.' }),
    cwd: cwdSchema.optional(),
    env: commandEnvironmentSchema.optional().meta({ description: ENV_TEXT }),
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

/** Why a command could not be started, where its output is not the only one to tell. */
export const execReasonSchema = z.enum(['process_limit_reached']).meta({
  id: 'ExecReason',
  description: '`process_limit_reached`: the box had as many processes as it may have. The exit code is 126.',
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
    reason: execReasonSchema
      .nullable()
      .meta({ description: 'Why it could not be started, if the exit code does not tell; else null.' }),
    oom_kills: z.int().meta({
      description:
        'Processes that the kernel killed while it ran because the memory of the box was full: children of the command included, and others of the box where the command has no cgroup that counts its own.',
    }),
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

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

/** Returns the bytes of texts in UTF-8. Pure. */
export function sumOfBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + bytesOf(text), 0)
}

export type ExecListQuery = z.infer<typeof execListQuery>
export type ExecOutputQuery = z.infer<typeof execOutputQuery>
export type ExecOutputView = z.infer<typeof execOutputSchema>
export type ExecRecordView = z.infer<typeof execRecordSchema>
export type ExecBody = z.infer<typeof execBodySchema>
export type Exec = z.infer<typeof execSchema>
export type ExecReason = z.infer<typeof execReasonSchema>
export type ExecStatus = z.infer<typeof execStatusSchema>
export type Session = z.infer<typeof sessionSchema>

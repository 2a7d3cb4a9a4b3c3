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

/** Signals that clients can send to commands. */
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

/** Bytes of a program or an argument. Linux accepts no longer ones (MAX_ARG_STRLEN). */
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
  .meta({ description: 'Absolute path of the working directory. Default: the home directory of the user.' })

/** The user that a command runs as. */
export const userSchema = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/, 'must be user or user:group')
  .meta({ description: 'User in the box, by name or number, optionally with `:group`. Default: root.' })

const COMMAND_TEXT =
  'Program and arguments, at most 262,144 bytes in total and 131,071 bytes each. Pass longer input in stdin or a file.'
const ENV_TEXT =
  'Variables by name, at most 262,144 bytes in total as `NAME=VALUE`. `BOX_*` and `BOXYARD_*` are reserved.'
// Records store the command, and lists return it.
const COMMAND_BYTES = 262_144
/** Bytes of the variables of a command, as NAME=VALUE. With the command and the box's own variables they stay below the limit of Linux. */
export const VARIABLES_BYTES = 262_144

/** The error text for variables that are longer. */
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

/** `POST B/exec`, with exactly one of `command` and `shell`. */
export const execBodySchema = z
  .strictObject({
    command: commandSchema.optional().meta({ description: COMMAND_TEXT }),
    shell: argumentSchema.min(1).optional().meta({ description: 'Command line for `/bin/sh -c`.' }),
    cwd: cwdSchema.optional(),
    env: commandEnvironmentSchema.optional().meta({ description: ENV_TEXT }),
    user: userSchema.optional(),
    stdin: z.string().optional().meta({ description: 'Input as text, or as base64 with `encoding: "base64"`.' }),
    tty: z
      .boolean()
      .optional()
      .meta({ description: 'Runs the command in a terminal of 80 by 24 characters. All output is then stdout.' }),
    no_hup: z.boolean().optional().meta({
      description:
        'Keeps the command running across restarts of the service, with its exit code. The response arrives as soon as the command starts.',
    }),
    timeout_seconds: z
      .number()
      .min(0.001)
      .max(2_147_483)
      .optional()
      .meta({ description: 'Kills the whole process group after this many seconds. Default: no timeout.' }),
    encoding: z
      .enum(['utf-8', 'base64'])
      .optional()
      .meta({ description: 'Encoding of stdin, stdout and stderr in JSON. Default: utf-8.' }),
  })
  .refine((body) => (body.command === undefined) !== (body.shell === undefined), {
    error: 'exactly one of command and shell is required',
  })
  .meta({ id: 'ExecRequest', override: forbid(...notExactlyOne('command', 'shell')) })

/** The status of a command. A lost stream is `lost`, never an invented exit code. */
export const execStatusSchema = z.enum(['running', 'exited', 'killed', 'timed_out', 'out_of_memory', 'lost']).meta({
  id: 'ExecStatus',
  description:
    '`killed`: a signal ended it. `timed_out` and `out_of_memory`: it was killed for that reason. `lost`: its end was not observed.',
})

/** Why a command could not be started, in addition to its output. */
export const execReasonSchema = z.enum(['process_limit_reached']).meta({
  id: 'ExecReason',
  description: '`process_limit_reached`: the box had reached its process limit, and the exit code is 126.',
})

const REPLACED = 'In `utf-8`, U+FFFD replaces invalid bytes.'

/** A command without its output, as in lists (docs/api/resources.md#exec). */
export const execRecordSchema = z
  .looseObject({
    id: idSchema,
    box: nameSchema,
    project: nameSchema,
    command: z
      .array(z.string())
      .meta({ description: 'Program and arguments. For `shell`: `/bin/sh`, `-c` and the command line.' }),
    status: execStatusSchema,
    exit_code: z.int().nullable().meta({
      description: 'Exit code. Null while the command runs, if a signal ended it, and if its end was not observed.',
    }),
    signal: z
      .string()
      .nullable()
      .meta({ description: 'Signal that ended the command, such as `SIGKILL`. Null otherwise.' }),
    reason: execReasonSchema
      .nullable()
      .meta({ description: 'Why the command could not start, if the exit code does not say. Null otherwise.' }),
    oom_kills: z.int().meta({
      description:
        'Processes that the kernel killed during the command because the memory of the box was full. Includes its children, and other processes of the box if the command has no cgroup of its own to count them.',
    }),
    started_at: timestampSchema,
    ended_at: timestampSchema
      .nullable()
      .meta({ description: 'When the command ended. Null while it runs; for `lost`, when the loss was noticed.' }),
    tty: z.boolean().meta({ description: 'Whether the command has a terminal. All output is then stdout.' }),
    user: z.string().meta({ description: 'User from the request. Default: `root`.' }),
    cwd: z.string().meta({ description: 'Working directory at the start.' }),
    detached: z.boolean().meta({ description: 'Whether the command was started with `no_hup`.' }),
    process: z.int().nullable().meta({ description: 'Process id in the box. Null if it is not known.' }),
  })
  .meta({ id: 'ExecRecord' })

/** A command and its output so far. */
export const execSchema = execRecordSchema
  .extend({
    stdout: z.string().meta({ description: 'The last 1 MiB of stdout.' }),
    stderr: z.string().meta({ description: 'The last 1 MiB of stderr.' }),
    encoding: z.enum(['utf-8', 'base64']).meta({ description: `Encoding of \`stdout\` and \`stderr\`. ${REPLACED}` }),
    truncated: z.boolean().meta({ description: 'Whether earlier output of a stream is missing.' }),
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
    .meta({ description: 'Seconds to wait for the command to end. Default: 20, or 0 with `no_hup`.' }),
})

/** The query of `GET B/exec/{id}/output`. */
export const execOutputQuery = z.strictObject({
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
  offset: integerQuery(0, 999_999_999_999_999).default(0).meta({ description: 'Offset in the stream, in bytes.' }),
  max_bytes: integerQuery(1, 1_048_576).default(1_048_576).meta({ description: 'Maximum number of bytes to return.' }),
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Encoding of `data`.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for output after the offset, or for the end.'),
})

/** Stored output bytes, from an offset on. */
export const outputPieceFields = {
  offset: z.int().meta({
    description:
      'Offset of the first byte of `data`, in bytes. Later than requested if those bytes are no longer kept.',
  }),
  next_offset: z.int().meta({ description: 'Offset for the next request, in bytes.' }),
  data: z.string().meta({ description: 'Output from `offset`, in the given `encoding`.' }),
  encoding: z.enum(['utf-8', 'base64']).meta({ description: REPLACED }),
  truncated: z.boolean().meta({ description: 'Whether bytes after the requested offset are no longer kept.' }),
}

/** A piece of a stream. */
export const execOutputSchema = z
  .looseObject({
    stream: z.enum(['stdout', 'stderr']),
    ...outputPieceFields,
    end: z.boolean().meta({ description: 'Whether the stream has ended at `next_offset`.' }),
    status: execStatusSchema,
  })
  .meta({ id: 'ExecOutput' })

/** `POST B/exec/{id}/signal`. */
export const execSignalBodySchema = z
  .strictObject({ signal: z.enum(SIGNALS).meta({ description: 'Signal to send.' }) })
  .meta({ id: 'ExecSignal' })

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
    command: z.array(z.string()).meta({ description: 'Program of the session and its arguments.' }),
    user: z.string().meta({ description: 'Login name in the box, or the uid if there is none.' }),
    process: z.int().nullable().meta({ description: 'Process id in the box. Null if it is not known.' }),
    created_at: timestampSchema,
    cols: z.int().meta({ description: 'Width of the terminal in characters.' }),
    rows: z.int().meta({ description: 'Height of the terminal in characters.' }),
    viewers: z.int().meta({ description: 'Number of attached clients.' }),
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

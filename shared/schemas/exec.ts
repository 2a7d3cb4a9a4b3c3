import * as z from 'zod'
import { environmentSchema, idSchema, nameSchema, timestampSchema, waitSeconds } from './common.ts'

const argument = z
  .string()
  .max(131_071)
  .regex(/^[^\0]*$/, 'must not hold a NUL character')

/** `POST B/exec`: exactly one of `command` and `shell`. */
export const execBodySchema = z
  .strictObject({
    command: z.array(argument).min(1).max(4096).optional().meta({ description: 'Program and arguments.' }),
    shell: argument.min(1).optional().meta({ description: 'A command line for `/bin/sh -c`.' }),
    cwd: z
      .string()
      .max(4096)
      .regex(/^\/[^\0]*$/, 'must be an absolute path')
      .optional()
      .meta({ description: 'Absolute directory; the home of the user if left out.' }),
    env: environmentSchema.optional(),
    user: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/, 'must be user or user:group')
      .optional()
      .meta({ description: 'A name or number of the box, optionally `:group`; root if left out.' }),
    stdin: z.string().optional().meta({ description: 'Text, or base64 with `encoding: "base64"`.' }),
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

/** What became of a command. A lost stream is `lost`, never an invented exit code. */
export const execStatusSchema = z
  .enum(['running', 'exited', 'killed', 'timed_out', 'out_of_memory', 'lost'])
  .meta({ id: 'ExecStatus' })

const outputSchema = z.looseObject({
  stdout: z.string().meta({ description: 'The last 1 MiB.' }),
  stderr: z.string().meta({ description: 'The last 1 MiB.' }),
  encoding: z.enum(['utf-8', 'base64']),
  truncated: z.boolean().meta({ description: 'Whether earlier output of a stream is left out.' }),
  next_offset: z
    .looseObject({ stdout: z.int(), stderr: z.int() })
    .meta({ description: 'Bytes each stream has written in all.' }),
})

/** A command and its output so far (api.md §2, Exec). */
export const execSchema = outputSchema
  .extend({
    id: idSchema,
    box: nameSchema,
    project: nameSchema,
    command: z.array(z.string()),
    status: execStatusSchema,
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    started_at: timestampSchema,
    ended_at: timestampSchema.nullable(),
    tty: z.boolean(),
    user: z.string(),
    cwd: z.string(),
    detached: z.boolean(),
    process: z.int().nullable().meta({ description: 'The pid in the box.' }),
  })
  .meta({ id: 'Exec' })

/** The path of one exec. */
export const execParams = z.strictObject({ project: nameSchema, name: nameSchema, exec: idSchema })

/** The query of `GET B/exec/{id}`. */
export const execGetQuery = z.strictObject({
  encoding: z.enum(['utf-8', 'base64']).default('utf-8').meta({ description: 'Of stdout and stderr.' }),
  wait_seconds: waitSeconds(0, 'Seconds to wait for the command to end.'),
})

export type ExecBody = z.infer<typeof execBodySchema>
export type Exec = z.infer<typeof execSchema>
export type ExecStatus = z.infer<typeof execStatusSchema>

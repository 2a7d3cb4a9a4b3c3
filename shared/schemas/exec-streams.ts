import * as z from 'zod'
import { booleanQuery, integerQuery, nameSchema } from './common.ts'
import {
  argumentSchema,
  commandEnvironmentSchema,
  commandSchema,
  cwdSchema,
  sumOfBytes,
  userSchema,
  VARIABLES_BYTES,
  VARIABLES_FAULT,
} from './exec.ts'

const IN_MESSAGE = 'comes in the first message with start=message'
const cells = integerQuery(1, 65_535)

/**
 * The query of `GET B/exec/ws`. It takes the query of the Kubernetes exec endpoint, and the fields of `POST B/exec`
 * (docs/exec.md#commands-over-a-websocket).
 */
export const execStreamQuery = z
  .strictObject({
    command: z
      .union([argumentSchema.transform((one) => [one]), commandSchema])
      .default([])
      .meta({
        description: 'Program and arguments, repeated. Required unless `start` is `message`.',
        override: { type: 'array', items: { type: 'string' } },
      }),
    start: z
      .enum(['query', 'message'])
      .default('query')
      .meta({ description: 'With `message`, the first message of the client carries `command` and `env`.' }),
    stdin: booleanQuery(false, 'Forwards client input to the command.'),
    stdout: booleanQuery(true, 'Sends stdout.'),
    stderr: booleanQuery(true, 'Sends stderr. A terminal has no stderr.'),
    tty: booleanQuery(false, 'Runs the command in a terminal.'),
    container: z.string().max(253).optional().meta({ description: 'Ignored. Kubernetes clients send it.' }),
    cwd: cwdSchema.optional(),
    user: userSchema.optional(),
    env: z
      .union([z.string().transform((one) => [one]), z.array(z.string()).max(512)])
      .default([])
      .refine((all) => all.every((one) => VARIABLE.test(one)), 'must be NAME=VALUE')
      .refine((all) => sumOfBytes(all) <= VARIABLES_BYTES, { error: VARIABLES_FAULT })
      .meta({
        description: 'Environment variables as `NAME=VALUE`, repeated.',
        override: { type: 'array', items: { type: 'string' } },
      }),
    cols: cells.default(80).meta({ description: 'Width of the terminal in characters.' }),
    rows: cells.default(24).meta({ description: 'Height of the terminal in characters.' }),
    ssh_agent: booleanQuery(
      false,
      'Creates a Unix socket in the box, named by `SSH_AUTH_SOCK`, that leads to the client over channel 5 until the command ends.',
    ),
    no_hup: booleanQuery(false, 'Keeps the command running when its client leaves.'),
    timeout_seconds: z
      .string()
      .regex(/^\d{1,7}(\.\d{1,3})?$/, 'must be a number of seconds')
      .transform(Number)
      .refine((value) => value >= 0.001 && value <= 2_147_483, 'must be from 0.001 to 2147483')
      .optional()
      .meta({ description: 'Kills the command after this many seconds.', override: { type: 'number' } }),
  })
  .superRefine(({ start, command, env, no_hup: outlives, ssh_agent: needsClient }, { addIssue }) => {
    if (outlives && needsClient)
      addIssue({ code: 'custom', path: ['ssh_agent'], message: 'needs the client, so it cannot go with no_hup' })
    const isNeeded = start === 'query'
    if (command.length > 0 !== isNeeded)
      addIssue({ code: 'custom', path: ['command'], message: isNeeded ? 'is required, or start=message' : IN_MESSAGE })
    if (!isNeeded && env.length > 0) addIssue({ code: 'custom', path: ['env'], message: IN_MESSAGE })
  })

/** The first message of a client that asked for `start=message`. */
export const execStartSchema = z.strictObject({ command: commandSchema, env: commandEnvironmentSchema.default({}) })

/** The query of `GET B/console`. */
export const consoleQuery = z.strictObject({
  session: nameSchema
    .default('main')
    .meta({ description: 'Session name. The session is started if it does not exist.' }),
  shell: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional()
    .meta({
      description: 'Absolute path of the program for a new session. Default: bash if the box has it, otherwise sh.',
    }),
  user: userSchema.optional(),
  cwd: cwdSchema.optional(),
  cols: cells.default(80).meta({ description: 'Width of the terminal in characters.' }),
  rows: cells.default(24).meta({ description: 'Height of the terminal in characters.' }),
  typing: z.enum(['all', 'one', 'none']).default('all').meta({
    description:
      '`all`: types together with others. `one`: is the only one to type, until it leaves. `none`: only watches.',
  }),
})

// The value is bounded as in `POST B/exec`.
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_.-]{0,254}=[^\0]{0,32768}$/

export type ExecStreamQuery = z.output<typeof execStreamQuery>
export type ConsoleQuery = z.output<typeof consoleQuery>

import * as z from 'zod'
import { argumentSchema } from './exec.ts'
import { forbid, notExactlyOne } from './field-rules.ts'

const probeCommand = z.array(argumentSchema).min(1).max(256)

/** A readiness probe, with exactly one of `http`, `tcp` and `command`. Without a probe a service is ready as soon as it runs. */
export const readinessSchema = z
  .strictObject({
    http: z
      .string()
      .max(2048)
      .regex(/^\/[\x21-\x7e]*$/, 'must be a path')
      .optional()
      .meta({ description: 'Path to request with GET on the port of the service. A status of 200–399 succeeds.' }),
    tcp: z
      .literal(true)
      .optional()
      .meta({ description: 'Connects to the port of the service. A connection succeeds.' }),
    command: probeCommand
      .optional()
      .meta({ description: 'Command to run in the box as the user of the service. Exit code 0 succeeds.' }),
    interval_seconds: z
      .number()
      .min(0.1)
      .max(300)
      .optional()
      .meta({ description: 'Seconds between probes. Default: 1.' }),
    timeout_seconds: z
      .number()
      .min(0.1)
      .max(60)
      .optional()
      .meta({ description: 'Seconds until a probe fails. Default: 2.' }),
    threshold: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Consecutive failures that make the service unhealthy. Default: 3.' }),
  })
  .refine(({ http, tcp, command }) => [http, tcp, command].filter((one) => one !== undefined).length === 1, {
    error: 'exactly one of http, tcp and command',
  })
  .meta({ override: forbid(...notExactlyOne('http', 'tcp', 'command')) })

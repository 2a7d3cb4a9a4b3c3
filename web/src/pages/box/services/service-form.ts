import type { CallInput } from '@boxyard/sdk'
import type { Service } from '../../../api/records.ts'
import { FieldError } from '../../../ui/faults.ts'
import { textOf } from '../../boxes/form-text.ts'
import { joinCommand, splitCommand } from '../commands/command-words.ts'

type PutBody = CallInput<'putService'>['body']
type Readiness = NonNullable<PutBody['readiness']>
type Spec = Service['spec']

/** Ways to find that a service is ready. */
export const READINESS_KINDS = ['none', 'http', 'tcp', 'command'] as const
export const RESTARTS = ['always', 'on-failure', 'never'] as const

/** Returns the definition in a form. Takes fields that the form does not show from `spec`. @throws FieldError for invalid values */
export function specOfForm(form: FormData, spec: Spec | null): PutBody {
  const port = Number(textOf(form, 'port'))
  const cwd = textOf(form, 'cwd')
  const user = textOf(form, 'user')
  const restart = RESTARTS.find((each) => each === textOf(form, 'restart'))
  return {
    ...(spec === null
      ? {}
      : { needs: spec.needs, grace_seconds: spec.grace_seconds, protocol: spec.protocol, ...stopSignalOf(spec) }),
    ...programOfForm(form, spec),
    ...(cwd === '' ? {} : { cwd }),
    ...(user === '' ? {} : { user }),
    port: port > 0 ? port : null,
    ...(restart === undefined ? {} : { restart }),
    readiness: readinessOfForm(form, spec),
  }
}

/** Returns command and environment from a form. Sends unedited values unchanged. @throws FieldError for invalid values */
export function programOfForm(form: FormData, spec: Spec | null): Pick<Spec, 'command' | 'env'> {
  // Browsers send line ends of text as CR LF.
  const [command, env] = ['command', 'env'].map((name) => textOf(form, name).replaceAll('\r\n', '\n')) as [
    string,
    string,
  ]
  return {
    command:
      spec !== null && command === joinCommand(spec.command)
        ? spec.command
        : at('command', () => splitCommand(command)),
    env: spec !== null && env === variableLines(spec.env) ? spec.env : at('env', () => variablesOf(env)),
  }
}

/** Returns the kind and the value of a readiness probe. */
export function readinessFields(spec: Spec | null): { kind: (typeof READINESS_KINDS)[number]; value: string } {
  const probe = spec?.readiness ?? {}
  if (typeof probe['http'] === 'string') return { kind: 'http', value: probe['http'] }
  if (probe['tcp'] === true) return { kind: 'tcp', value: '' }
  const { command } = probe
  if (Array.isArray(command)) return { kind: 'command', value: joinCommand(command.map(String)) }
  return { kind: 'none', value: '' }
}

/** Returns the variables that lines of NAME=VALUE set. @throws Error for another line */
export function variablesOf(text: string): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [, name, value] = /^\s*([^=\s]+)=(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw new Error(`"${line}" is not NAME=VALUE.`)
    variables[name] = value
  }
  return variables
}

/** Returns lines that set variables. */
export function variableLines(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')
}

/** Reads the value of a field. @throws FieldError for an invalid value */
function at<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new FieldError(field, error instanceof Error ? error.message : String(error))
  }
}

function readinessOfForm(form: FormData, spec: Spec | null): Readiness | null {
  const value = textOf(form, 'probe')
  const times: Partial<Pick<Readiness, 'interval_seconds' | 'timeout_seconds' | 'threshold'>> = {}
  for (const name of ['interval_seconds', 'timeout_seconds', 'threshold'] as const) {
    const kept = spec?.readiness?.[name]
    if (typeof kept === 'number') times[name] = kept
  }
  const kind = textOf(form, 'readiness')
  if (kind === 'http') return { ...times, http: value === '' ? '/' : value }
  if (kind === 'tcp') return { ...times, tcp: true }
  const before = readinessFields(spec)
  const kept = spec?.readiness?.['command']
  if (kind === 'command' && before.kind === kind && before.value.replaceAll('\n', '') === value && Array.isArray(kept))
    return { ...times, command: kept.map(String) }
  if (kind === 'command') return { ...times, command: at('probe', () => splitCommand(value)) }
  return null
}

function stopSignalOf(spec: Spec): Pick<PutBody, 'stop_signal'> {
  const signal = STOP_SIGNALS.find((each) => each === spec.stop_signal)
  return signal === undefined ? {} : { stop_signal: signal }
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'] as const

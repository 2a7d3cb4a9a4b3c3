import type { CallInput } from '@boxyard/sdk'
import { FieldError } from '../../ui/faults.ts'
import type { FormValues } from '../../ui/form.tsx'
import { parseTags } from '../../ui/tags.ts'
import { variablesOf } from '../box/services/service-form.ts'

type CreateBody = CallInput<'createBox'>['body']
type Values = Pick<FormValues, 'text' | 'has'>

/**
 * Returns the request for a new box, without empty fields. A fork keeps the size of its source if the form still has the `defaults`.
 * @throws FieldError
 */
export function createBodyOf({ text, has }: Values, defaults: Readonly<Record<string, unknown>> = {}): CreateBody {
  const isOrigins = (name: string): boolean => text('fork') !== '' && Number(text(name)) === defaults[name]
  const config = Object.fromEntries(
    CONFIG.flatMap((name) => (text(name) === '' || isOrigins(name) ? [] : [[name, Number(text(name))]])),
  ) as NonNullable<CreateBody['config']>
  const minutes = Number(text('idle_minutes'))
  const [origin, env, mounts, tags] = ['fork', 'env', 'mounts', 'tags'].map(text) as [string, string, string, string]
  return {
    name: text('name'),
    config,
    ...(origin === '' ? { base: text('base') } : { fork: origin }),
    ...(env === '' ? {} : { environment: read('env', () => variablesOf(unixLines(env))) }),
    ...(mounts === '' ? {} : { data_mounts: read('mounts', () => mountsOf(unixLines(mounts))) }),
    ...(tags === '' ? {} : { tags: parseTags(unixLines(tags)) }),
    ...(minutes > 0 || has('wake') ? { url_settings: urlSettingsOf(minutes, has('wake')) } : {}),
  }
}

function urlSettingsOf(minutes: number, wake: boolean): NonNullable<CreateBody['url_settings']> {
  return { wake, ...(minutes > 0 ? { idle_stop_seconds: Math.max(1, Math.round(60 * minutes)) } : {}) }
}

/** Returns the volumes that lines such as `db /var/lib/db` attach. A final `ro` makes one read-only. @throws Error for another line */
export function mountsOf(lines: string): NonNullable<CreateBody['data_mounts']> {
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, path, flag] = /^\s*([a-z0-9-]+)\s+(\/\S+)(\s+ro)?\s*$/.exec(line) ?? []
      if (name === undefined || path === undefined) throw new Error(`"${line}" is not VOLUME /PATH.`)
      return { name, path, ...(flag === undefined ? {} : { read_only: true }) }
    })
}

// Browsers send the line ends of text as CR LF.
function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

function read<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new FieldError(field, error instanceof Error ? error.message : String(error))
  }
}

const CONFIG = ['cpus', 'ram_mb', 'storage_gb', 'network_mbps', 'disk_mbps', 'disk_iops'] as const

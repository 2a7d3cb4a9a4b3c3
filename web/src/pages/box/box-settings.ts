import type { CallInput } from '@boxyard/sdk'
import type { Box } from '../../api/records.ts'
import { FieldError } from '../../ui/faults.ts'
import type { FormValues } from '../../ui/form.tsx'
import { parseTags } from '../../ui/tags.ts'
import { textOf } from '../boxes/form-text.ts'
import { variableLines, variablesOf } from './services/service-form.ts'

/** Settings of a box that its dialog shows. */
export type BoxSettings = Required<
  Pick<CallInput<'updateBox'>['body'], 'config' | 'environment' | 'tags' | 'url_settings'>
>

/** Returns the current settings of the box. */
export function settingsOfBox({ config, environment, tags, url_settings: url }: Box): BoxSettings {
  const { cpus, ram_mb, storage_gb, network_mbps, disk_mbps, disk_iops } = config
  return {
    config: { cpus, ram_mb, storage_gb, network_mbps, disk_mbps, disk_iops },
    environment,
    tags,
    url_settings: { wake: url.wake, idle_stop_seconds: url.idle_stop_seconds },
  }
}

/** Returns the settings in a form. Takes settings that the form does not show from the box. @throws FieldError */
export function settingsOfForm({ text, has, all }: Pick<FormValues, 'text' | 'has' | 'all'>, box: Box): BoxSettings {
  const number = (name: string): number => Number(text(name))
  const limit = (name: string): number | null => (text(name) === '' ? null : number(name))
  const minutes = text('idle_minutes')
  return {
    config: {
      ...{ cpus: number('cpus'), ram_mb: number('ram_mb'), storage_gb: number('storage_gb') },
      ...{ network_mbps: limit('network_mbps'), disk_mbps: limit('disk_mbps'), disk_iops: limit('disk_iops') },
    },
    environment: environmentOf(textOf(all, 'env').replaceAll('\r\n', '\n'), box.environment),
    tags: parseTags(text('tags')),
    url_settings: {
      wake: has('wake'),
      idle_stop_seconds: minutes === '' ? null : Math.max(1, Math.round(60 * Number(minutes))),
    },
  }
}

/** Splits variables into those that fit a line each, and names of those with several lines, which the form leaves unchanged. */
export function editableVariables(environment: Readonly<Record<string, string>>): { lines: string; fixed: string[] } {
  const entries = Object.entries(environment)
  const isLine = ([, value]: [string, string]): boolean => !/[\r\n]/.test(value)
  return {
    lines: variableLines(Object.fromEntries(entries.filter(isLine))),
    fixed: entries.filter((entry) => !isLine(entry)).map(([name]) => name),
  }
}

function environmentOf(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const { lines, fixed } = editableVariables(before)
  if (text === lines) return { ...before }
  try {
    const kept = fixed.map((name): [string, string] => [name, before[name] ?? ''])
    return { ...Object.fromEntries(kept), ...variablesOf(text) }
  } catch (error) {
    throw new FieldError('env', error instanceof Error ? error.message : String(error))
  }
}

import type { CallInput } from '@boxyard/sdk'
import type { Box } from '../../api/records.ts'
import { FieldError } from '../../ui/faults.ts'
import type { FormValues } from '../../ui/form.tsx'
import { parseTags } from '../../ui/tags.ts'
import { textOf } from '../boxes/form-text.ts'
import { variableLines, variablesOf } from './services/service-form.ts'

/** Settings of a box that its dialog shows. */
interface BoxSettings {
  config: NonNullable<UpdateBody['config']>
  environment: Variables
  tags: Variables
  url_settings: NonNullable<UpdateBody['url_settings']>
}

type UpdateBody = CallInput<'updateBox'>['body']
type Variables = Record<string, string>
type Form = Pick<FormValues, 'text' | 'has' | 'all'>

/** Settings to send. The service keeps absent ones. */
export type BoxChanges = Partial<BoxSettings>

/**
 * Returns the settings that the user changed in a form that showed the box as `opened`. Settings, variables and tags that other users
 * changed since then keep their values of `now`. @throws FieldError
 */
export function changesOfForm(form: Form, { opened, now }: { opened: Box; now: Box }): BoxChanges {
  const [before, after] = [settingsOfBox(opened), settingsOfForm(form, opened)]
  const config = changedFields(before.config, after.config)
  const environment = changedFields(before.environment, after.environment)
  const tags = changedFields(before.tags, after.tags)
  const url = changedFields(before.url_settings, after.url_settings)
  return {
    ...(config !== null && { config }),
    ...(environment !== null && { environment: withChanges(now.environment, environment) }),
    ...(tags !== null && { tags: withChanges(now.tags, tags) }),
    ...(url !== null && { url_settings: url }),
  }
}

/** Returns the current values of the settings in `changes`, to undo them. */
export function valuesBefore({ config, environment, tags, url_settings: url }: BoxChanges, now: Box): BoxChanges {
  const current = settingsOfBox(now)
  return {
    ...(config && { config: fieldsOf(current.config, config) }),
    ...(environment && { environment: current.environment }),
    ...(tags && { tags: current.tags }),
    ...(url && { url_settings: fieldsOf(current.url_settings, url) }),
  }
}

function settingsOfBox({ config, environment, tags, url_settings: url }: Box): BoxSettings {
  const { cpus, ram_mb, storage_gb, network_mbps, disk_mbps, disk_iops } = config
  return {
    config: { cpus, ram_mb, storage_gb, network_mbps, disk_mbps, disk_iops },
    environment,
    tags,
    url_settings: { wake: url.wake, idle_stop_seconds: url.idle_stop_seconds },
  }
}

/** Returns the settings in a form. Takes variables that the form does not show from the box. @throws FieldError */
function settingsOfForm({ text, has, all }: Form, box: Box): BoxSettings {
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

/** Returns the fields whose values differ, with `undefined` for those that `after` lacks. Null if all are equal. */
function changedFields<Fields extends object>(before: Fields, after: Fields): Partial<Fields> | null {
  const all = { ...fieldsOf({} as Fields, before), ...after }
  const changed = Object.entries(all).filter(([name, value]) => before[name as keyof Fields] !== value)
  return changed.length === 0 ? null : (Object.fromEntries(changed) as Partial<Fields>)
}

/** Returns the values in `from` of the fields that `names` has. */
function fieldsOf<Fields extends object>(from: Fields, names: Partial<Fields>): Partial<Fields> {
  return Object.fromEntries(Object.keys(names).map((name) => [name, from[name as keyof Fields]])) as Partial<Fields>
}

/** Returns `values` with other values of some fields. Those that are `undefined` go. */
function withChanges(values: Variables, changes: Partial<Variables>): Variables {
  return Object.fromEntries(
    Object.entries({ ...values, ...changes }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

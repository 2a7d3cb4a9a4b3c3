import { ServiceError } from '../../../shared/errors.ts'
import type { UpdateBoxBody } from '../../../shared/schemas/boxes.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import { checkEnvironment } from '../common/environment.ts'
import { bytesOf } from '../common/sizes.ts'
import { type BoxDefaults, checkRegion } from './create.ts'

/**
 * The record with what `body` changes; the same object if that is nothing. Null is the default of the deployment. A pure
 * function.
 * @throws ServiceError `environment_reserved`, `invalid_request` for a foreign region
 */
export function updatedRecord(record: BoxRecord, body: UpdateBoxBody, defaults: BoxDefaults): BoxRecord {
  checkEnvironment(body.environment ?? {})
  checkRegion(body.config?.region, defaults.config.region)
  const { region: _region, ...config } = body.config ?? {}
  const changes: Changes = {
    config: body.config === null ? defaults.config : merged(record.config, config, defaults.config),
    environment: given(body.environment, record.environment, {}),
    tags: given(body.tags, record.tags, {}),
    port: given(body.port, record.port, null) || null,
    gracePeriodSeconds: given(
      body.termination_grace_period_seconds,
      record.gracePeriodSeconds,
      defaults.gracePeriodSeconds,
    ),
    urlSettings:
      body.url_settings === null ? URL_DEFAULTS : merged(record.urlSettings, body.url_settings, URL_DEFAULTS),
  }
  const isSame = Object.entries(changes).every(
    ([key, value]) => JSON.stringify(value) === JSON.stringify(record[key as keyof Changes]),
  )
  return isSame ? record : { ...record, ...changes }
}

/**
 * Changes how much a box may write.
 * @throws ServiceError `below_use` with figures
 */
export async function resizeTree(
  filesystem: CowFilesystem,
  tree: { name: string; what: string },
  sizeGb: number,
): Promise<void> {
  const [used, wanted] = [await filesystem.usedBytes(tree.name), bytesOf(sizeGb)]
  if (wanted < used) {
    const figures = `${mib(used)} MiB are in use, ${mib(wanted)} MiB were asked for`
    throw new ServiceError('below_use', `${tree.what} holds more than that: ${figures}.`)
  }
  await filesystem.setQuota(tree.name, wanted)
}

type Changes = Pick<BoxRecord, 'config' | 'environment' | 'tags' | 'port' | 'gracePeriodSeconds' | 'urlSettings'>

function given<T>(value: T | null | undefined, now: T, fallback: T): T {
  return value === undefined ? now : (value ?? fallback)
}

/** `now` with the fields of `changes`: null is that of `defaults`. */
function merged<T extends object>(
  now: T,
  changes: { [K in keyof T]?: T[K] | null | undefined } | undefined,
  defaults: T,
): T {
  const fields = Object.entries(changes ?? {}).filter(([, value]) => value !== undefined)
  return { ...now, ...Object.fromEntries(fields.map(([key, value]) => [key, value ?? defaults[key as keyof T]])) }
}

function mib(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2)
}

const URL_DEFAULTS: BoxRecord['urlSettings'] = { auth: 'token', wake: false, idle_stop_seconds: null }

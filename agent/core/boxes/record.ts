import { newId } from '../../../shared/ids.ts'
import type { BoxConfig, CreateBoxBody, UpdateBoxBody } from '../../../shared/schemas/boxes.ts'
import type { BoxRecord, MountRecord } from '../../ports/store/boxes.ts'
import type { Caller } from '../common/caller.ts'
import { storedProtocol } from '../common/protocol.ts'

/** The defaults of a new box. */
export interface BoxDefaults {
  base: string
  config: BoxConfig
  gracePeriodSeconds: number
  /** Whether boxes may have `config.nesting`. */
  allowsNesting: boolean
  /** Processors of the host. */
  hostCores: number
  /** Name of the node, as boxes show it. */
  node: string
}

/** A request for a box. */
export interface NewBox {
  caller: Caller
  project: string
  body: CreateBoxBody
  idempotencyKey: string | null
}

/** The source of a box: a base, a snapshot or another box. */
export interface BoxOrigin {
  base: string | null
  baseId: string | null
  forkOf: string | null
  subvolume: string
  config: BoxConfig
  environment: Record<string, string>
  port: number | null
  protocol?: BoxRecord['protocol']
  gracePeriodSeconds: number
}

/**
 * Returns the record of a new box, whose settings come from the request, else from the source of a fork, else from the deployment.
 * Pure but for the id.
 */
export function newRecord(
  { caller, project, body, idempotencyKey }: NewBox,
  { origin, mounts, now, defaults }: { origin: BoxOrigin; mounts: MountRecord[]; now: number; defaults: BoxDefaults },
): BoxRecord {
  const id = newId('box', now)
  const record: BoxRecord = {
    id,
    project,
    name: body.name,
    version: 1,
    createdAt: now,
    updatedAt: now,
    base: origin.base,
    baseId: origin.baseId,
    forkOf: origin.forkOf,
    root: `sub_${id}`,
    desired: { power: 'running', generation: 1 },
    observed: { ...UNBORN, since: now },
    config: {
      cpus: body.config?.cpus ?? origin.config.cpus,
      ram_mb: body.config?.ram_mb ?? origin.config.ram_mb,
      region: origin.config.region,
      storage_gb: body.config?.storage_gb ?? origin.config.storage_gb,
      network_mbps: body.config?.network_mbps ?? origin.config.network_mbps,
      disk_mbps: body.config?.disk_mbps ?? origin.config.disk_mbps,
      disk_iops: body.config?.disk_iops ?? origin.config.disk_iops,
      nesting: body.config?.nesting ?? origin.config.nesting,
      shm_mb: body.config?.shm_mb ?? origin.config.shm_mb,
      core_dumps: body.config?.core_dumps ?? origin.config.core_dumps,
    },
    environment: body.environment ?? origin.environment,
    tags: body.tags ?? {},
    port: origin.port,
    ...(origin.protocol === undefined ? {} : { protocol: origin.protocol }),
    domains: [],
    gracePeriodSeconds: origin.gracePeriodSeconds,
    leaseUntil: null,
    urlSettings: URL_DEFAULTS,
    mounts,
    restore: null,
    restoreFault: null,
    createdBy: { token: caller.tokenId, idempotencyKey },
  }
  const { port, protocol, termination_grace_period_seconds, url_settings } = body
  const settings = { port, protocol, termination_grace_period_seconds, url_settings }
  return { ...record, ...settingsOf(record, settings, defaults) }
}

/** The fields of a record that a client sets. */
type Settings = Pick<
  BoxRecord,
  'config' | 'environment' | 'tags' | 'port' | 'protocol' | 'gracePeriodSeconds' | 'urlSettings'
>

/** Returns the settings of a record after the changes of `body`, in which null is the default of the deployment. Pure. */
export function settingsOf(record: BoxRecord, body: UpdateBoxBody, defaults: BoxDefaults): Settings {
  const { region: _region, ...config } = body.config ?? {}
  return {
    config: body.config === null ? defaults.config : merged(record.config, config, defaults.config),
    environment: given(body.environment, record.environment, {}),
    tags: given(body.tags, record.tags, {}),
    port: given(body.port, record.port, null) || null,
    protocol: body.protocol === undefined ? record.protocol : storedProtocol(body.protocol),
    gracePeriodSeconds: given(
      body.termination_grace_period_seconds,
      record.gracePeriodSeconds,
      defaults.gracePeriodSeconds,
    ),
    urlSettings:
      body.url_settings === null ? URL_DEFAULTS : merged(record.urlSettings, body.url_settings, URL_DEFAULTS),
  }
}

function given<T>(value: T | null | undefined, now: T, fallback: T): T {
  return value === undefined ? now : (value ?? fallback)
}

/** Returns `now` with the fields of `changes`. A null becomes the value of `defaults`. */
function merged<T extends object>(
  now: T,
  changes: { [K in keyof T]?: T[K] | null | undefined } | undefined,
  defaults: T,
): T {
  const fields = Object.entries(changes ?? {}).filter(([, value]) => value !== undefined)
  return { ...now, ...Object.fromEntries(fields.map(([key, value]) => [key, value ?? defaults[key as keyof T]])) }
}

const URL_DEFAULTS: BoxRecord['urlSettings'] = { auth: 'token', wake: false, idle_stop_seconds: null }
const UNBORN = {
  status: 'pending',
  reason: 'creating',
  message: null,
  generation: 0,
  bootId: null,
  hasRun: false,
} as const

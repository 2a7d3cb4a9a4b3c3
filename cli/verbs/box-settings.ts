import type { CallInput } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import { fieldsFrom, jsonFrom } from './plain.ts'
import type { VerbFlags } from './verb.ts'

/** Flags of fields that are set at the creation of a box and can change later. */
export const SETTING_FLAGS = [
  ['--cpus <n>', 'CPU cores, such as 0.5, up to the number on the host'],
  ['--ram-mb <size>', 'memory, such as 512m or 2g (a plain number is MiB)'],
  ['--storage-gb <size>', 'disk, such as 20g (a plain number is GiB)'],
  ['--network-mbps <n>', 'network limit in each direction, in Mbit/s'],
  ['--disk-mbps <n>', 'disk throughput limit for reads plus writes, in MB/s'],
  ['--disk-iops <n>', 'disk limit for reads plus writes per second'],
  ['--shm-mb <size>', 'size of /dev/shm, such as 256m (counts as memory; default: half of the memory)'],
  ['--core-dumps', 'write core dumps of crashed programs to the disk'],
  ['--no-core-dumps', 'write no core dumps'],
  ['--nesting', 'allow containers and sandboxes in the box, from its next start'],
  ['--no-nesting', 'disallow them, from its next start'],
  ['--port <n>', 'port that its URL forwards to (0: none)'],
  ['--protocol <name>', 'protocol of that port: http, or h2c (HTTP/2 without TLS, for gRPC)'],
  ['--auth <who>', 'who can open its URLs: token (anyone with a project token) or public'],
  ['--wake', 'start a stopped box when a request for its URLs arrives'],
  ['--no-wake', 'leave it stopped when a request arrives'],
  ['--idle-stop <time>', 'stop it after this time without activity, such as 30m, or never'],
  ['--grace <time>', 'time between SIGTERM and SIGKILL when it stops, such as 30s'],
] as const

/** Flags that place a new box. */
export const PLACE_FLAGS = [
  ['--mount <volume:path...>', 'volumes to attach (add `:ro` to mount one read-only)'],
  ['--node <node>', 'node of the fleet to run it on'],
  ['--region <region>', 'region to run it in'],
] as const

/** The flag for fields without their own flag. */
export const DATA_FLAG = ['-d, --data <json>', 'more fields as JSON (@FILE reads a file, - reads stdin)'] as const

/** Fields of a box that an update sets, by the flags that give them. */
type BoxChanges = CallInput<'updateBox'>['body']
type NewBox = Omit<CallInput<'createBox'>['body'], 'name' | 'environment' | 'tags'>

/** Reads the settings of flags and `--data`, without maps by key. @throws UsageError */
export function settingsFrom(flags: VerbFlags): BoxChanges {
  return merged(givenJson(flags), fieldsFrom(SETTINGS, flags))
}

/** Reads the settings of a new box. @throws UsageError */
export function newBoxFrom(flags: VerbFlags): NewBox {
  const mounts = mountsOf(flags)
  return {
    ...merged(givenJson(flags), fieldsFrom([...SETTINGS, 'base', 'node', 'region=config.region'], flags)),
    ...(mounts.length === 0 ? {} : { data_mounts: mounts }),
  }
}

/** Reads `VOLUME:PATH[:ro]` of `--mount`. @throws UsageError */
export function mountsOf({ mount }: VerbFlags): { name: string; path: string; read_only: boolean }[] {
  return (Array.isArray(mount) ? mount : []).map((text) => {
    const [, name = '', path = '', mode] = /^([^:]+):(\/[^:]*)(?::(ro|rw))?$/.exec(text) ?? []
    if (name === '')
      throw new UsageError(
        `--mount: must be VOLUME:PATH or VOLUME:PATH:ro with an absolute path, such as cache:/var/cache, not "${text}".`,
      )
    return { name, path, read_only: mode === 'ro' }
  })
}

/** Reads `--data`. @throws UsageError */
function givenJson({ data }: VerbFlags): Record<string, unknown> {
  return typeof data === 'string' ? jsonFrom(data) : {}
}

/** Adds the fields of flags to the fields of `--data`, also within objects. */
function merged(given: Record<string, unknown>, flags: Record<string, unknown>): Record<string, unknown> {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const added = Object.entries(flags).map(([field, value]) => {
    const before = given[field]
    return [field, isObject(before) && isObject(value) ? { ...before, ...value } : value] as const
  })
  return { ...given, ...Object.fromEntries(added) }
}

/** Fields of settings, as `fieldsFrom` reads them. */
const SETTINGS = [
  'cpus=config.cpus:number',
  'ram_mb=config.ram_mb:mib',
  'storage_gb=config.storage_gb:gib',
  'network_mbps=config.network_mbps:number',
  'disk_mbps=config.disk_mbps:number',
  'disk_iops=config.disk_iops:number',
  'shm_mb=config.shm_mb:mib',
  'core_dumps=config.core_dumps:flag',
  'nesting=config.nesting:flag',
  'port:number',
  'protocol',
  'auth=url_settings.auth',
  'wake=url_settings.wake:flag',
  'idle_stop=url_settings.idle_stop_seconds:span',
  'grace=termination_grace_period_seconds:seconds',
]

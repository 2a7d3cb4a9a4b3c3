import { cpus, hostname } from 'node:os'
import { resolve } from 'node:path'
import * as z from 'zod'
import { FRONT_SETTINGS } from '../../shared/settings-names.ts'
import type { BoxShares } from '../ports/boxes/limits.ts'
import { BACKUP_VARIABLES, type BackupSettings, backupsOf } from './backups.ts'
import { CONNECTION_VARIABLES, connectionsAtOnceOf } from './connections.ts'
import { EDGE_VARIABLES, type EdgeSettings, edgeSettingsOf } from './edge.ts'
import { FLEET_VARIABLES, type FleetSettings, fleetOf } from './fleet.ts'
import { boxSharesOf, type DefaultQuota, SHARE_VARIABLES } from './shares.ts'
import { type ChannelTlsFiles, channelTlsOf, type DataListener, dataOf } from './tls.ts'
import {
  absolute,
  flag,
  givenSettings,
  hostPatterns,
  list,
  name,
  number,
  origin,
  registries,
  whole,
} from './variables.ts'

/** All settings of the agent, with defaults applied. Sizes in bytes, times in milliseconds. */
export interface AgentSettings {
  dataDir: string
  host: string
  port: number
  logLevel: 'debug' | 'info' | 'warn' | 'error'
  /** Whether the audit log has the commands that requests run. */
  auditCommands: boolean
  region: string
  defaultBase: string
  /** Bases to build before the agent reports that it is ready. */
  bases: string[]
  /** Origins of registries allowed at private addresses. Origins with `http:` are used without TLS. */
  baseRegistries: string[]
  runRoot: string
  runtime: 'embedded' | 'kubernetes'
  /** How boxes see their limits. lxcfs shows them in /proc, and cpusets bind a box to as many CPUs as its limit. */
  view: { lxcfs: boolean; cpusets: boolean }
  kubernetes: { kubeconfig: string; namespace: string; node: string; image: string; warmPool: number }
  /** Place in a fleet, whose objects the cluster of `kubernetes` keeps. Null: no fleet. */
  fleet: FleetSettings | null
  channelTls: ChannelTlsFiles | null
  data: DataListener
  /** Address of the Prometheus metrics. Null: off. */
  metrics: { host: string; port: number } | null
  edge: EdgeSettings
  /** Addresses and networks whose `X-Forwarded-For` is trusted at the data address. */
  trustedProxies: string[]
  /** Further host names that the data address and the metrics answer for. */
  hosts: string[]
  backups: BackupSettings
  pool: { initialBytes: number; stepBytes: number; hostReserveBytes: number; reservePercent: number }
  /** Quota of projects that have none of their own. Null is unlimited. */
  defaultQuota: DefaultQuota
  network: { subnet: string; egress: boolean; allowPrivate: boolean; dns: string[]; spareSlots: number }
  limits: AgentLimits
}

/** The bounds in force, published by `GET /v1/config`. The shares are those that a box gets, and the most that one may have. */
export interface AgentLimits extends BoxShares {
  /** Requests per second of one token, and its burst. */
  rateLimitPerSecond: number
  rateLimitBurst: number
  pidsPerBox: number
  /** Whether boxes may have `config.nesting`. */
  allowsNesting: boolean
  boxesMax: number
  volumesMax: number
  /** Factor by which running boxes may overcommit the host's memory, and the free memory that a start needs. */
  memoryOvercommit: number
  memoryReserveBytes: number
  startsAtOnce: number
  /** Bytes of each output stream that are returned with a command, and that are kept. */
  execOutputBytes: number
  execKeptBytes: number
  execRecordsPerBox: number
  execRecordBytesPerBox: number
  execsAtOnce: number
  /** Connections at once at the internal port and at the data address, each. The edge's sockets may have a quarter. */
  connectionsAtOnce: number
  /** Most WebSockets of commands and consoles at once, over all addresses. The same for WebSockets to ports of boxes. */
  streamsAtOnce: number
  portConnectionsAtOnce: number
  /** Request bodies in memory at once. Bodies up to 64 KiB are not counted. */
  largeBodyBytesAtOnce: number
  startDeadlineMs: number
  stopSlackMs: number
  idempotencyKeepMs: number
  operationKeepMs: number
  tokenKeepMs: number
  /** Retention of events, by age and by count. */
  eventKeepMs: number
  eventsKept: number
  /** Retention of the audit log. */
  auditKeepMs: number
  auditKept: number
  drainMs: number
}

/**
 * Reads the agent's settings from the environment, once.
 * @throws Error naming the variable, its value and what was expected
 */
export function readAgentSettings(environment: Record<string, string | undefined> = process.env): AgentSettings {
  const given = Object.entries(givenSettings(environment)).filter(([key]) => !FRONT_ONLY.has(key))
  const parsed = environmentSchema.safeParse(Object.fromEntries(given))
  if (!parsed.success) throw new Error(describeFault(parsed.error, environment))
  const env = parsed.data
  return {
    dataDir: env.BOXYARD_DATA_DIR,
    host: env.BOXYARD_AGENT_HOST,
    port: env.BOXYARD_AGENT_PORT,
    logLevel: env.BOXYARD_LOG_LEVEL,
    auditCommands: env.BOXYARD_AUDIT_COMMANDS,
    region: env.BOXYARD_REGION,
    defaultBase: env.BOXYARD_BASE,
    bases: [...new Set([env.BOXYARD_BASE, ...env.BOXYARD_BASES])],
    baseRegistries: env.BOXYARD_BASE_REGISTRIES,
    runRoot: env.BOXYARD_RUN_DIR,
    runtime: env.BOXYARD_RUNTIME,
    view: { lxcfs: env.BOXYARD_LXCFS, cpusets: env.BOXYARD_CPUSETS },
    kubernetes: {
      kubeconfig: env.BOXYARD_KUBECONFIG,
      namespace: env.BOXYARD_NAMESPACE,
      node: env.BOXYARD_NODE,
      image: env.BOXYARD_POD_IMAGE,
      warmPool: env.BOXYARD_WARM_POOL,
    },
    fleet: fleetOf(env),
    channelTls: channelTlsOf(env),
    data: dataOf(env),
    metrics:
      env.BOXYARD_METRICS_PORT === null ? null : { host: env.BOXYARD_METRICS_HOST, port: env.BOXYARD_METRICS_PORT },
    edge: edgeSettingsOf(env, environment),
    trustedProxies: env.BOXYARD_TRUSTED_PROXIES,
    hosts: env.BOXYARD_HOSTS,
    backups: backupsOf(env),
    pool: {
      initialBytes: Math.round(env.BOXYARD_POOL_GB * GIB),
      stepBytes: Math.round(env.BOXYARD_POOL_STEP_GB * GIB),
      hostReserveBytes: Math.round(env.BOXYARD_HOST_RESERVE_GB * GIB),
      reservePercent: env.BOXYARD_POOL_RESERVE_PERCENT,
    },
    defaultQuota: env.BOXYARD_DEFAULT_QUOTA,
    network: {
      subnet: env.BOXYARD_SUBNET,
      egress: env.BOXYARD_EGRESS,
      allowPrivate: env.BOXYARD_ALLOW_PRIVATE,
      dns: env.BOXYARD_DNS,
      spareSlots: env.BOXYARD_SPARE_SLOTS,
    },
    limits: {
      rateLimitPerSecond: env.BOXYARD_RATE_LIMIT,
      rateLimitBurst: env.BOXYARD_RATE_BURST,
      pidsPerBox: env.BOXYARD_PIDS_PER_BOX,
      allowsNesting: allowsNesting(env),
      ...boxSharesOf(env),
      boxesMax: env.BOXYARD_BOXES_MAX,
      volumesMax: env.BOXYARD_VOLUMES_MAX,
      memoryOvercommit: env.BOXYARD_MEMORY_OVERCOMMIT,
      memoryReserveBytes: env.BOXYARD_MEMORY_RESERVE_MB * 1024 ** 2,
      startsAtOnce: env.BOXYARD_STARTS_AT_ONCE,
      connectionsAtOnce: connectionsAtOnceOf(env),
      ...FIXED_LIMITS,
    },
  }
}

/** Tests whether the agent reads a variable. */
export function isAgentSetting(name: string): boolean {
  return Object.hasOwn(environmentSchema.shape, name)
}

// The cluster decides a pod's rights. A box with CAP_SYS_ADMIN and its own mounts fits no level of Pod Security. Kubelet and CNI also
// rely on the network and cgroup of a pod as they made them (docs/pods.md).
function allowsNesting(env: z.infer<typeof environmentSchema>): boolean {
  if (env.BOXYARD_NESTING && env.BOXYARD_RUNTIME === 'kubernetes') {
    throw new Error(
      'BOXYARD_NESTING=true: must be false with BOXYARD_RUNTIME=kubernetes, because pods do not support nesting.',
    )
  }
  return env.BOXYARD_NESTING
}

function describeFault(error: z.ZodError, environment: Record<string, string | undefined>): string {
  const issue = error.issues[0]
  if (issue?.code === 'unrecognized_keys') return `${issue.keys.join(', ')}: no such setting.`
  const name = String(issue?.path[0] ?? '')
  return `${name}=${JSON.stringify(environment[name] ?? '')}: ${issue?.message ?? 'not valid'}.`
}

const GIB = 1024 ** 3
const DAY_MS = 86_400_000

const FIXED_LIMITS = {
  execOutputBytes: 1024 ** 2,
  execKeptBytes: 8 * 1024 ** 2,
  execRecordsPerBox: 1000,
  execRecordBytesPerBox: 64 * 1024 ** 2,
  execsAtOnce: 512,
  streamsAtOnce: 1024,
  portConnectionsAtOnce: 1024,
  largeBodyBytesAtOnce: 64 * 1024 ** 2,
  startDeadlineMs: 60_000,
  stopSlackMs: 30_000,
  idempotencyKeepMs: DAY_MS,
  operationKeepMs: DAY_MS,
  tokenKeepMs: 30 * DAY_MS,
  eventKeepMs: 7 * DAY_MS,
  eventsKept: 500_000,
  auditKeepMs: 90 * DAY_MS,
  auditKept: 500_000,
  drainMs: 30_000,
} as const

const environmentSchema = z.strictObject({
  BOXYARD_DATA_DIR: absolute.default('/var/lib/boxyard').transform((path) => resolve(path)),
  BOXYARD_RUN_DIR: absolute.default('/run/boxyard').transform((path) => resolve(path)),
  BOXYARD_LOG: z.string().optional(),
  ...BACKUP_VARIABLES,
  ...EDGE_VARIABLES,
  ...SHARE_VARIABLES,
  ...CONNECTION_VARIABLES,
  ...FLEET_VARIABLES,
  BOXYARD_AGENT_HOST: z.string().default('127.0.0.1'),
  BOXYARD_AGENT_PORT: whole(8090, 0, 65_535),
  BOXYARD_DATA_HOST: z.string().default('127.0.0.1'),
  BOXYARD_DATA_PORT: whole(8091, 0, 65_535),
  BOXYARD_DATA_URL: origin.optional(),
  BOXYARD_DATA_CERT: absolute.optional(),
  BOXYARD_DATA_KEY: absolute.optional(),
  BOXYARD_HOSTS: hostPatterns,
  BOXYARD_METRICS_HOST: z.string().default('127.0.0.1'),
  BOXYARD_METRICS_PORT: z
    .string()
    .default('8092')
    .refine(
      (text) => /^(off|\d{1,5})$/.test(text) && !(Number(text) > 65_535),
      'expected a port from 0 to 65535, or off',
    )
    .transform((text) => (text === 'off' ? null : Number(text))),
  BOXYARD_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  BOXYARD_AUDIT_COMMANDS: flag(true),
  BOXYARD_REGION: name.default('local'),
  BOXYARD_BASE: name.default('debian'),
  BOXYARD_BASES: list,
  BOXYARD_BASE_REGISTRIES: registries,
  BOXYARD_CHANNEL_CA: absolute.optional(),
  BOXYARD_CHANNEL_CERT: absolute.optional(),
  BOXYARD_CHANNEL_KEY: absolute.optional(),
  BOXYARD_RUNTIME: z.enum(['embedded', 'kubernetes'], { error: 'expected embedded or kubernetes' }).default('embedded'),
  BOXYARD_LXCFS: flag(true),
  BOXYARD_CPUSETS: flag(true),
  BOXYARD_KUBECONFIG: absolute.default('/etc/boxyard/kubeconfig'),
  BOXYARD_NAMESPACE: name.default('boxyard'),
  BOXYARD_NODE: z.string().default(hostname()),
  BOXYARD_POD_IMAGE: z.string().default('registry.k8s.io/pause:3.10'),
  BOXYARD_WARM_POOL: whole(0, 0, 1000),
  BOXYARD_POOL_GB: number(8, 0.25, 1_048_576),
  BOXYARD_POOL_STEP_GB: number(4, 0, 1024),
  BOXYARD_HOST_RESERVE_GB: number(2, 0, 1_048_576),
  BOXYARD_SUBNET: z
    .string()
    .regex(/^\d{1,3}\.\d{1,3}\.0\.0\/16$/, 'expected an IPv4 network such as 10.213.0.0/16')
    .default('10.213.0.0/16'),
  BOXYARD_NESTING: flag(false),
  BOXYARD_EGRESS: flag(true),
  BOXYARD_ALLOW_PRIVATE: flag(false),
  BOXYARD_DNS: list,
  BOXYARD_SPARE_SLOTS: whole(8, 0, 1024),
  BOXYARD_RATE_LIMIT: whole(200, 1, 1_000_000),
  BOXYARD_RATE_BURST: whole(400, 1, 1_000_000),
  BOXYARD_MEMORY_OVERCOMMIT: number(16, 0.01, 1000),
  BOXYARD_MEMORY_RESERVE_MB: whole(256, 0, 16_777_216),
  BOXYARD_STARTS_AT_ONCE: whole(Math.max(4, cpus().length * 2), 1, 256),
})

// Agent and front share one environment, so variables that only the front reads are not unknown here.
const FRONT_ONLY: ReadonlySet<string> = new Set(
  FRONT_SETTINGS.filter((name) => !Object.hasOwn(environmentSchema.shape, name)),
)

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../shared/log.ts'
import type { AgentSettings } from '../config/agent.ts'
import type { Tokens } from '../core/access/tokens.ts'
import type { PodNetwork } from '../drivers/pods/network.ts'
import { openSqliteStore } from '../drivers/store/store.ts'
import { createActorContext } from '../lib/actor-context.ts'
import { lockDataDirectory } from '../lib/disk/data-lock.ts'
import { writeDurably } from '../lib/disk/durable-file.ts'
import { type KeyFiles, openKeyFiles } from '../lib/disk/key-files.ts'
import type { BackupStore } from '../ports/backups/store.ts'
import type { ImageRegistry } from '../ports/bases/image-registry.ts'
import type { Network } from '../ports/boxes/network.ts'
import type { Runtime } from '../ports/boxes/runtime.ts'
import type { Edge } from '../ports/edge/edge.ts'
import type { ExecOutputs } from '../ports/exec/outputs.ts'
import type { Files } from '../ports/files/files.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { StorageAccounts } from '../ports/pool/accounts.ts'
import type { CowFilesystem } from '../ports/pool/cow-filesystem.ts'
import type { Actor, ActorContext } from '../ports/store/events.ts'
import type { Store } from '../ports/store/store.ts'
import { RESTORE_MARK } from './backup-archive.ts'
import type { Closers } from './shutdown.ts'

/** The state in a data directory besides the pool: identity, keys, database. */
export interface DataDirectory {
  /** 8 of `a-z 0-9`. Part of the name of every object that this deployment makes on its host. */
  instanceId: string
  runDir: string
  keys: KeyFiles
  store: Store
  /** The actor that the current async context changes records for. */
  actorContext: ActorContext
}

/** The same, with its tokens as its fleet shares them. */
export interface Deployment extends DataDirectory {
  tokens: Tokens
}

export interface DeploymentDeps {
  settings: AgentSettings
  closers: Closers
  clock: Clock
  logger: Logger
  /** Logs progress and readiness, at any log level. */
  notices: Logger
  /** Wraps each driver, so that tests can inject faults. The identity in production. */
  decorate<P extends keyof DecoratedPorts, T extends DecoratedPorts[P]>(port: P, driver: T): T
}

/** The ports that `decorate` wraps. */
export interface DecoratedPorts {
  store: Store
  filesystem: CowFilesystem
  accounts: StorageAccounts
  network: Network | PodNetwork
  runtime: Runtime
  outputs: ExecOutputs
  files: Files
  backupStore: BackupStore
  registry: ImageRegistry
  edge: Edge
}

/** Tests whether a data directory holds a deployment. @throws Error if this user may not look */
export function hasDeployment(dataDir: string): boolean {
  return statSync(join(dataDir, 'boxyard.db'), { throwIfNoEntry: false }) !== undefined
}

/** @throws Error unless a data directory holds a deployment */
export function requireDeployment(dataDir: string): void {
  if (!hasDeployment(dataDir))
    throw new Error(`${dataDir} has no deployment. Start the service once, or set BOXYARD_DATA_DIR.`)
}

/** Opens a data directory, creating it if needed. `exclusive` locks it, as only one agent may serve it. */
export function openDeployment(deps: DeploymentDeps, options: { exclusive: boolean }): DataDirectory {
  const { settings, closers, clock } = deps
  const { dataDir } = settings
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (options.exclusive) closers.add('data directory lock', lockDataDirectory(dataDir))
  endRestore(dataDir, options.exclusive)
  const instanceId = readInstanceId(join(dataDir, 'instance'))
  const keys = openKeyFiles(dataDir, { now: () => clock.now(), isExclusive: options.exclusive })
  const actorContext = createActorContext<Actor>()
  const outbox = { now: () => clock.now(), actorContext }
  const database = openSqliteStore(join(dataDir, 'boxyard.db'), { hasBallast: options.exclusive, outbox })
  const store = deps.decorate('store', database)
  closers.add('store', () => store.close())
  return { instanceId, runDir: join(settings.runRoot, instanceId), keys, store, actorContext }
}

// A new database beside restored keys would be a separate deployment, which the restore could no longer replace.
function endRestore(dataDir: string, isExclusive: boolean): void {
  const mark = join(dataDir, RESTORE_MARK)
  if (!existsSync(mark)) return
  if (!hasDeployment(dataDir))
    throw new Error(`A restore into ${dataDir} was interrupted. Repeat it (admin restore), or remove ${mark}.`)
  if (isExclusive) rmSync(mark, { recursive: true, force: true })
}

function readInstanceId(path: string): string {
  if (!existsSync(path)) writeDurably(path, `${newInstanceId()}\n`)
  const id = readFileSync(path, 'utf8').trim()
  if (INSTANCE_ID.test(id)) return id
  throw new Error(`${path}: expected 8 of a-z and 0-9.`)
}

function newInstanceId(): string {
  return [...randomBytes(8)].map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')
}

const INSTANCE_ID = /^[a-z0-9]{8}$/
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBackupStore } from '../drivers/backups/location.ts'
import { createHostBaseBuilder } from '../drivers/bases/builder.ts'
import { endLxcfs } from '../drivers/boxes/lxcfs-process.ts'
import { netProber } from '../drivers/edge/prober.ts'
import { endEdge } from '../drivers/edge/process.ts'
import { createExecOutputs } from '../drivers/exec/outputs.ts'
import type { ExecFiles } from '../drivers/exec/shim-protocol.ts'
import { createHostFiles } from '../drivers/files/files.ts'
import { createBoxHandles } from '../drivers/host/handle.ts'
import { openBtrfsPool } from '../drivers/pool/cow-filesystem.ts'
import { createImageRegistry } from '../drivers/registry/image-registry.ts'
import type { BackupStore } from '../ports/backups/store.ts'
import type { BaseBuilder } from '../ports/bases/builder.ts'
import type { ImageRegistry } from '../ports/bases/image-registry.ts'
import type { World } from '../ports/boxes/world.ts'
import type { Prober } from '../ports/edge/prober.ts'
import type { ExecOutputs } from '../ports/exec/outputs.ts'
import type { Files } from '../ports/files/files.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { StorageAccounts } from '../ports/pool/accounts.ts'
import type { CowFilesystem } from '../ports/pool/cow-filesystem.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'
import { openEmbeddedWorld } from './embedded.ts'

/** The opened drivers of the core: pool mounted, network ready, running boxes adopted. */
export interface Drivers extends World {
  filesystem: CowFilesystem
  accounts: StorageAccounts
  directory: Directory
  builder: BaseBuilder
  outputs: ExecOutputs
  files: Files
  backupStore: BackupStore
  registry: ImageRegistry
  prober: Prober
  /** Starts in the background what first requests would wait for. Call it once requests are answered, since it would delay that. */
  warmUp(): void
}

/**
 * Opens the drivers that the settings name.
 * @throws Error for a pool that belongs to another database, is missing, or cannot be mounted
 */
export async function openDrivers(
  deps: DeploymentDeps & Pick<Drivers, 'directory'>,
  deployment: DataDirectory,
): Promise<Drivers> {
  const { settings } = deps
  makeRunDirectories(deps, deployment)
  const { filesystem, accounts } = await openPool(deps, deployment)
  const execFiles = execFilesOf(settings)
  const world = await openWorld(deps, deployment, execFiles)
  const { files, warmUp: warmUpFiles } = openFiles(deps, deployment)
  const backupStore = deps.decorate('backupStore', await openBackupStore(settings.backups))
  deps.closers.add('backup store', () => backupStore.close())
  const registry = createImageRegistry({ named: settings.baseRegistries, now: () => deps.clock.now() })
  return {
    ...world,
    filesystem,
    accounts,
    directory: deps.directory,
    builder: createHostBaseBuilder(),
    outputs: deps.decorate('outputs', createExecOutputs(execFiles)),
    files,
    backupStore,
    registry: deps.decorate('registry', registry),
    prober: netProber,
    warmUp: () => {
      world.warmUp()
      warmUpFiles()
    },
  }
}

/** Opens runtime and network without the pool, to stop boxes while a disk is broken. */
export async function openBoxWorld(deps: DeploymentDeps, deployment: DataDirectory): Promise<World> {
  makeRunDirectories(deps, deployment)
  return openWorld({ ...deps, directory: null }, deployment, execFilesOf(deps.settings))
}

/** Ends the lxcfs of a deployment, once no box of it runs. */
export function endHostLxcfs({ runDir }: DataDirectory): Promise<void> {
  return endLxcfs(runDir)
}

/** Ends the edge of a deployment with all its connections, even an edge that another agent started. */
export function endHostEdge({ runDir }: DataDirectory): Promise<void> {
  return endEdge(runDir)
}

// Mode 0711: the users of boxes reach the files that are mounted from here into their boxes, and list nothing.
function makeRunDirectories({ settings }: DeploymentDeps, { runDir }: DataDirectory): void {
  for (const directory of [settings.runRoot, runDir]) {
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o711)
  }
}

function execFilesOf({ dataDir, limits }: DeploymentDeps['settings']): ExecFiles {
  return { directory: join(dataDir, 'execs'), keptBytes: limits.execKeptBytes }
}

// Both runtimes record handles of running boxes in the same form.
function openFiles(
  { closers, decorate }: DeploymentDeps,
  { runDir }: DataDirectory,
): { files: Files } & Pick<Drivers, 'warmUp'> {
  const handles = createBoxHandles(`${runDir}/boxes`)
  const files = createHostFiles({ find: (boxId) => handles.readRunning(boxId) })
  closers.add('files', () => files.close())
  return {
    files: decorate('files', files),
    // After a failure the first request tries again and reports it.
    warmUp: () => void files.start().catch(() => undefined),
  }
}

async function openWorld(
  deps: DeploymentDeps & { directory: Directory | null },
  deployment: DataDirectory,
  execFiles: ExecFiles,
): Promise<World> {
  if (deps.settings.runtime === 'embedded') return openEmbeddedWorld(deps, deployment, execFiles)
  // Loaded on demand, because the Kubernetes client is large.
  const { openClusterWorld } = await import('./kubernetes.ts')
  return openClusterWorld(deps, deployment, execFiles)
}

async function openPool(
  deps: DeploymentDeps,
  { store, runDir }: DataDirectory,
): Promise<Pick<Drivers, 'filesystem' | 'accounts'>> {
  const { settings, closers, logger, decorate } = deps
  const { dataDir } = settings
  const knownPool = await store.meta.get('pool_id')
  const options = { dataDir, runDir, ...settings.pool, isExpected: knownPool !== null, logger }
  const pool = await openBtrfsPool(options)
  const filesystem = decorate('filesystem', pool)
  closers.add('pool', () => filesystem.close())
  if (knownPool !== null && knownPool !== filesystem.poolId) {
    throw new Error(
      'The storage pool does not belong to this database. Restore a pool and a database that belong together.',
    )
  }
  await store.meta.set('pool_id', filesystem.poolId)
  return { filesystem, accounts: decorate('accounts', pool.accounts) }
}

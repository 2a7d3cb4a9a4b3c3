import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import { createHostBaseBuilder } from './drivers/base-host.ts'
import { openBtrfsPool } from './drivers/cow-btrfs.ts'
import { createExecOutputs } from './drivers/exec-outputs.ts'
import { createNftNetwork } from './drivers/network-nft.ts'
import { createOciRuntime } from './drivers/runtime-oci.ts'
import type { BaseBuilder } from './ports/base-builder.ts'
import type { CowFilesystem } from './ports/cow-filesystem.ts'
import type { ExecOutputs } from './ports/exec-outputs.ts'
import type { Network } from './ports/network.ts'
import type { Runtime } from './ports/runtime.ts'

/** The drivers of one Linux host, open: pool mounted, network ready, running boxes taken up. */
export interface EmbeddedDrivers {
  filesystem: CowFilesystem
  network: Network
  runtime: Runtime
  builder: BaseBuilder
  outputs: ExecOutputs
}

/**
 * Opens the embedded set: btrfs on a loop image, nft and veth, crun.
 * @throws Error for a pool that is not this database's
 */
export async function openEmbeddedDrivers(deps: DeploymentDeps, deployment: Deployment): Promise<EmbeddedDrivers> {
  const { settings, closers, logger, decorate } = deps
  const { instanceId, runDir, store } = deployment
  const { dataDir } = settings
  // Boxes' users pass through to what is mounted into their boxes; they can list nothing.
  for (const directory of [settings.runRoot, runDir]) {
    mkdirSync(directory, { recursive: true })
    chmodSync(directory, 0o711)
  }
  const filesystem = decorate('filesystem', await openBtrfsPool({ dataDir, runDir, ...settings.pool, logger }))
  closers.add('pool', () => filesystem.close())
  const knownPool = await store.meta.get('pool_id')
  if (knownPool !== null && knownPool !== filesystem.poolId) {
    throw new Error('The pool is not the one this database was made with: restore the pair that belongs together.')
  }
  await store.meta.set('pool_id', filesystem.poolId)
  const { spareSlots, ...network } = settings.network
  const slots = decorate(
    'network',
    createNftNetwork({ instanceId, dataDir, runDir, ...network, spareMin: spareSlots, logger }),
  )
  await slots.open()
  closers.add('network', () => slots.close({ release: false }))
  const execFiles = { directory: join(dataDir, 'execs'), keptBytes: settings.limits.execKeptBytes }
  const runtime = decorate('runtime', createOciRuntime({ instanceId, runDir, network: slots, logger, execFiles }))
  await runtime.open()
  closers.add('runtime', () => runtime.close())
  return {
    filesystem,
    network: slots,
    runtime,
    builder: createHostBaseBuilder(),
    outputs: createExecOutputs(execFiles),
  }
}

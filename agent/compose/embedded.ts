import { createOciRuntime } from '../drivers/boxes/runtime-oci.ts'
import type { ExecFiles } from '../drivers/exec/shim-protocol.ts'
import { createNftNetwork } from '../drivers/network/nft-network.ts'
import type { ClusterFacts } from '../ports/boxes/cluster-facts.ts'
import type { World } from '../ports/boxes/world.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'

/** Opens network (nftables, veth) and runtime (crun) of a single Linux host, and adopts the boxes that run. */
export async function openEmbeddedWorld(
  { settings, closers, logger, decorate }: DeploymentDeps,
  { instanceId, runDir }: DataDirectory,
  execFiles: ExecFiles,
): Promise<World> {
  const { spareSlots, ...rules } = settings.network
  const network = decorate(
    'network',
    createNftNetwork({ instanceId, dataDir: settings.dataDir, runDir, ...rules, spareMin: spareSlots, logger }),
  )
  await network.open()
  closers.add('network', () => network.close({ release: false }))
  const { boxesMax, allowsNesting, startsAtOnce } = settings.limits
  const view = { usesLxcfs: settings.view.lxcfs, bindsCpus: settings.view.cpusets }
  // Containers in a box mount terminals without a limit. More for all boxes would only mean more kernel memory for one.
  const terminalBoxes = allowsNesting ? 0 : boxesMax
  const options = { instanceId, runDir, network, logger, execFiles, ...view, terminalBoxes, startsAtOnce }
  const runtime = decorate('runtime', createOciRuntime(options))
  await runtime.open()
  closers.add('runtime', () => runtime.close())
  const warmUp = (): void => {
    network.warmUp()
    runtime.warmUp()
  }
  return { network, runtime, cluster: NO_CLUSTER, places: null, warmUp }
}

const NO_CLUSTER: ClusterFacts = {
  report: async () => ({ namespace: '', nodes: [], problems: [] }),
  place: async () => ({ warm: 0, refusal: null }),
  onRefusal: () => () => undefined,
}

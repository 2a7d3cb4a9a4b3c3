import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { closedNodes } from '../core/fleet/placement.ts'
import type { ExecFiles } from '../drivers/exec/shim-protocol.ts'
import { createKubeClusterFacts } from '../drivers/pods/cluster-facts.ts'
import { removePolicies, removeWarmPods, sharedPodsOf } from '../drivers/pods/instance-pods.ts'
import { createPodNetwork } from '../drivers/pods/network.ts'
import { createKubeRuntime, type KubeRuntimeParts } from '../drivers/pods/runtime-kube.ts'
import { createSharedPods } from '../drivers/pods/shared-pods.ts'
import { ANNOTATION_INSTANCE, sharedMarkOf } from '../drivers/pods/spec.ts'
import { type KubeApi, openKubeApi } from '../lib/kube/api.ts'
import type { PodWatch } from '../lib/kube/watch.ts'
import type { BoxPlaces } from '../ports/boxes/box-places.ts'
import type { HostNetwork } from '../ports/boxes/network.ts'
import type { World } from '../ports/boxes/world.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'

/**
 * Opens network and runtime of a Kubernetes cluster in which this host is a node and boxes are pods on it. Adopts the boxes that run.
 * With the `directory` of a fleet, its warm pods include those on all the fleet's nodes.
 */
export async function openClusterWorld(
  deps: DeploymentDeps & { directory: Directory | null },
  data: DataDirectory,
  execFiles: ExecFiles,
): Promise<World> {
  const { settings, closers, logger, clock, decorate, directory } = deps
  const { instanceId, runDir } = data
  const { kubeconfig, namespace, image, node, warmPool } = settings.kubernetes
  const takesShared = directory !== null && settings.fleet !== null
  const { pidsPerBox: pidsMax } = settings.limits
  const { egress, allowPrivate, dns } = settings.network
  const api = await openKubeApi({ kubeconfig, namespace, logger, now: () => clock.now() })
  closers.add('kubernetes', () => api.close())
  const pods = api.pods.watch(`${ANNOTATION_INSTANCE}=${instanceId}`)
  await pods.start()
  closers.add('pods', () => pods.close())
  const network = decorate('network', createPodNetwork({ instanceId, runDir, egress, allowPrivate, dns, logger }))
  await network.open()
  closers.add('network', () => network.close({ release: false }))
  const kube = createKubeRuntime({
    ...{ instanceId, runDir, api, pods, network, image, node, pidsMax, logger, execFiles, takesShared },
    ...{ usesLxcfs: settings.view.lxcfs, terminalBoxes: settings.limits.boxesMax },
    ...{ startsAtOnce: settings.limits.startsAtOnce, warmPool: takesShared ? 0 : warmPool },
  })
  const runtime = decorate('runtime', kube)
  await runtime.open()
  closers.add('runtime', () => runtime.close())
  const shared = takesShared ? await openPlaces(deps, data, { api, kube, directory }) : null
  const cluster = createKubeClusterFacts({ api, pods, shared: shared?.pods ?? null, node, now: () => clock.now() })
  const close: HostNetwork['close'] = async ({ release }) => {
    if (release) await removeWarmPods(api, instanceId)
    if (release) await removePolicies(api, instanceId)
    await network.close({ release })
  }
  return {
    network: { problems: () => network.problems(), addressOf: (boxId) => network.addressOf(boxId), close },
    runtime,
    cluster,
    places: shared?.places ?? null,
    warmUp: () => runtime.warmUp(),
  }
}

/** Opens the warm pods that this agent shares with its fleet. Has the node's wrapper pass on the pods that are placed here. */
async function openPlaces(
  { settings, closers, logger, clock }: DeploymentDeps,
  { instanceId, runDir }: DataDirectory,
  { api, kube, directory }: { api: KubeApi; kube: KubeRuntimeParts; directory: Directory },
): Promise<{ places: BoxPlaces; pods: PodWatch }> {
  const { image, warmPool: size } = settings.kubernetes
  linkRunDirectory(runDir, join(settings.runRoot, sharedMarkOf(api.namespace)))
  const pods = api.pods.watch(sharedPodsOf(instanceId))
  await pods.start()
  closers.add('warm pods of the fleet', () => pods.close())
  const places = createSharedPods({
    ...{ api, pods, instanceId, image, size, logger },
    ready: kube.readyPods,
    closedNodes: () => closedNodes({ region: null }, { directory, now: () => clock.now() }),
  })
  places.start()
  closers.add('count of the warm pods', () => places.close())
  return { places, pods }
}

/** Points `link` to the directory of this agent. The wrapper may read it at any moment. */
function linkRunDirectory(runDir: string, link: string): void {
  const made = `${link}.${process.pid}`
  rmSync(made, { force: true })
  symlinkSync(runDir, made)
  renameSync(made, link)
}

import type { ExecFiles } from '../drivers/exec/shim-protocol.ts'
import { removePolicies, removeWarmPods } from '../drivers/pods/box-pods.ts'
import { createKubeClusterFacts } from '../drivers/pods/cluster-facts.ts'
import { createPodNetwork } from '../drivers/pods/network.ts'
import { createKubeRuntime } from '../drivers/pods/runtime-kube.ts'
import { ANNOTATION_INSTANCE } from '../drivers/pods/spec.ts'
import { openKubeApi } from '../lib/kube/api.ts'
import type { HostNetwork } from '../ports/boxes/network.ts'
import type { World } from '../ports/boxes/world.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'

/** Opens network and runtime of a Kubernetes cluster in which this host is a node and boxes are pods on it. Adopts the boxes that run. */
export async function openClusterWorld(
  { settings, closers, logger, clock, decorate }: DeploymentDeps,
  { instanceId, runDir }: DataDirectory,
  execFiles: ExecFiles,
): Promise<World> {
  const { kubeconfig, namespace, image, node, warmPool } = settings.kubernetes
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
  const runtime = decorate(
    'runtime',
    createKubeRuntime({
      ...{ instanceId, runDir, api, pods, network, image, node, warmPool, pidsMax, logger, execFiles },
      ...{ usesLxcfs: settings.view.lxcfs, terminalBoxes: settings.limits.boxesMax },
      startsAtOnce: settings.limits.startsAtOnce,
    }),
  )
  await runtime.open()
  closers.add('runtime', () => runtime.close())
  const cluster = createKubeClusterFacts({ api, pods, node, now: () => clock.now() })
  const close: HostNetwork['close'] = async ({ release }) => {
    if (release) await removeWarmPods(api, instanceId)
    if (release) await removePolicies(api, instanceId)
    await network.close({ release })
  }
  return {
    network: { problems: () => network.problems(), addressOf: (boxId) => network.addressOf(boxId), close },
    runtime,
    cluster,
    warmUp: () => runtime.warmUp(),
  }
}

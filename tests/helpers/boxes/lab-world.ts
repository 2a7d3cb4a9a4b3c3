import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { createOciRuntime } from '../../../agent/drivers/boxes/runtime-oci.ts'
import { createNftNetwork, type NftNetworkSettings } from '../../../agent/drivers/network/nft-network.ts'
import { removePolicies, removeWarmPods } from '../../../agent/drivers/pods/instance-pods.ts'
import { createPodNetwork } from '../../../agent/drivers/pods/network.ts'
import { createKubeRuntime } from '../../../agent/drivers/pods/runtime-kube.ts'
import { ANNOTATION_INSTANCE, LABEL_WARM } from '../../../agent/drivers/pods/spec.ts'
import { openKubeApi } from '../../../agent/lib/kube/api.ts'
import type { PodWatch } from '../../../agent/lib/kube/watch.ts'
import type { HostNetwork } from '../../../agent/ports/boxes/network.ts'
import type { Runtime } from '../../../agent/ports/boxes/runtime.ts'
import { clusterOfTests, runtimeOfTests } from '../pods/cluster-of-tests.ts'
import { silentLogger } from '../silent-logger.ts'

/** Options for a lab's runtimes. */
export interface LabWorldOptions {
  /** True makes lxcfs show boxes their limits. The lxcfs process outlives the runtimes. Default false. */
  usesLxcfs?: boolean
}

/** The environment of a lab's boxes. It is this host, or with `TEST_RUNTIME=kubernetes` the test cluster. */
export interface LabWorld {
  /** The network, already open. */
  network: HostNetwork
  /** Creates another runtime for the same boxes, not opened yet. */
  create(): Runtime
  /** Closes everything that the runtimes share except the network. */
  drop(): void
}

/**
 * Opens the environment of a lab. Its runtimes keep state that does not survive a reboot in `runDir`. TEST_WARM_POOL sets the number of
 * warm pods that boxes start from.
 */
export async function openLabWorld(
  settings: NftNetworkSettings,
  runDir: string,
  { usesLxcfs = false }: LabWorldOptions = {},
): Promise<LabWorld> {
  const open = runtimeOfTests() === 'kubernetes' ? openCluster : openHost
  return open(settings, runDir, usesLxcfs)
}

async function openHost(settings: NftNetworkSettings, runDir: string, usesLxcfs: boolean): Promise<LabWorld> {
  const { instanceId } = settings
  const network = createNftNetwork(settings)
  await network.open()
  const create = (): Runtime => createOciRuntime({ instanceId, runDir, network, usesLxcfs, logger: silentLogger })
  return { network, create, drop: () => undefined }
}

async function openCluster(settings: NftNetworkSettings, runDir: string, usesLxcfs: boolean): Promise<LabWorld> {
  const { instanceId } = settings
  const { kubeconfig, node, image } = clusterOfTests()
  mkdirSync(runDir, { recursive: true, mode: 0o711 })
  const network = createPodNetwork({ ...settings, runDir, logger: silentLogger })
  await network.open()
  const api = await openKubeApi({ kubeconfig, namespace: 'boxyard', logger: silentLogger, now: () => Date.now() })
  const pods = api.pods.watch(`${ANNOTATION_INSTANCE}=${instanceId}`)
  await pods.start()
  // Path where the node's wrapper finds the agent of an instance.
  const known = `/run/boxyard/${instanceId}`
  mkdirSync('/run/boxyard', { recursive: true, mode: 0o711 })
  symlinkSync(runDir, known)
  const execFiles = { directory: `${runDir}/execs`, keptBytes: 8 * 1024 ** 2 }
  const warmPool = Number(process.env['TEST_WARM_POOL'] ?? 0)
  const limits = { warmPool, pidsMax: 256 }
  const parts = {
    instanceId,
    runDir,
    api,
    pods,
    network,
    image,
    node,
    execFiles,
    usesLxcfs,
    ...limits,
    logger: silentLogger,
  }
  const close: HostNetwork['close'] = async ({ release }) => {
    if (release) await removeWarmPods(api, instanceId)
    if (release) await removePolicies(api, instanceId)
    await network.close({ release })
  }
  return {
    network: { problems: () => network.problems(), addressOf: (boxId) => network.addressOf(boxId), close },
    create: () => (warmPool > 0 ? inWarmPods(createKubeRuntime(parts), pods) : createKubeRuntime(parts)),
    drop: () => {
      pods.close()
      api.close()
      rmSync(known, { force: true })
    },
  }
}

/** Waits for a ready warm pod before each start, so that nearly all boxes start from one. */
function inWarmPods(runtime: Runtime, pods: PodWatch): Runtime {
  const isWarm = ({ metadata, status }: Pod): boolean =>
    metadata?.labels?.[LABEL_WARM] !== undefined && status?.phase === 'Running'
  return {
    ...runtime,
    start: async (spec) => {
      const deadline = performance.now() + WARM_MS
      while (!pods.all().some(isWarm) && performance.now() < deadline) await sleep(20)
      return runtime.start(spec)
    },
  }
}

const WARM_MS = 10_000

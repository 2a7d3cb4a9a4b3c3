import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../commands.ts'
import { podNetwork } from './network.ts'
import { type NodeRecord, nodeCgroup, nodePaths } from './nodes.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

/** Writes the configuration of a node's containerd, CNI and kubelet, and installs the OCI runtime of boxes. */
export function writeNodeConfiguration(record: ClusterRecord, node: NodeRecord): void {
  const { bin } = clusterPaths(record.name)
  const { state, run } = nodePaths(record.name, node)
  for (const directory of [run, join(state, 'containerd'), join(state, 'kubelet'), bin]) {
    mkdirSync(directory, { recursive: true, mode: 0o711 })
  }
  installBoxRuntime(record, bin)
  writeFileSync(join(state, 'containerd.toml'), formatContainerd(record, node))
  mkdirSync(join(state, 'cni'), { recursive: true })
  writeFileSync(join(state, 'cni/10-cluster.conflist'), JSON.stringify(podNetworkSettings(record, node), null, 2))
  writeFileSync(join(state, 'kubelet.json'), JSON.stringify(kubeletSettings(record, node), null, 2))
}

function installBoxRuntime({ programs }: ClusterRecord, bin: string): void {
  const runc = join(programs, 'runc')
  const runtime = join(bin, 'boxyard-oci')
  copyFileSync(join(ROOT, 'infra/node/boxyard-oci'), runtime)
  chmodSync(runtime, 0o755)
  writeFileSync(`${runtime}.conf`, `RUNC=${runc}\n`)
}

function formatContainerd({ name, programs }: ClusterRecord, node: NodeRecord): string {
  const { bin } = clusterPaths(name)
  const { state, run, containerdSocket } = nodePaths(name, node)
  const runtime = (handler: string, program: string): string => `
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.${handler}]
runtime_type = 'io.containerd.runc.v2'
pod_annotations = ['boxyard.dev/*']
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.${handler}.options]
BinaryName = '${program}'
Root = '${run}/runc'
SystemdCgroup = false
`
  return `version = 3
root = '${state}/containerd'
state = '${run}/containerd'
disabled_plugins = [${UNUSED_PLUGINS.map((plugin) => `'${plugin}'`).join(', ')}]
[grpc]
address = '${containerdSocket}'
[ttrpc]
address = '${containerdSocket}.ttrpc'
[plugins.'io.containerd.shim.v1.manager']
socket_dir = '${run}/s'
[plugins.'io.containerd.internal.v1.opt']
path = '${state}/opt'
[plugins.'io.containerd.cri.v1.images']
snapshotter = 'overlayfs'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '${PAUSE_IMAGE}'
[plugins.'io.containerd.cri.v1.runtime']
disable_apparmor = true
enable_criu = false
netns_mounts_under_state_dir = true
# Without CAP_SYS_RESOURCE a value below the current one is refused.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['${programs}']
conf_dir = '${state}/cni'
use_internal_loopback = true
${runtime('runc', join(programs, 'runc'))}${runtime('boxyard', join(bin, 'boxyard-oci'))}`
}

function podNetworkSettings({ name, node: { mtu } }: ClusterRecord, node: NodeRecord): object {
  const ipam = {
    type: 'host-local',
    dataDir: join(nodePaths(name, node).state, 'cni/addresses'),
    ranges: [[{ subnet: node.podSubnet }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return { cniVersion: '1.0.0', name: podNetwork(name), plugins: [{ type: 'ptp', mtu, ipam }] }
}

function kubeletSettings({ name, ports }: ClusterRecord, node: NodeRecord): object {
  const { keys } = clusterPaths(name)
  const { state, containerdSocket } = nodePaths(name, node)
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${nodeCgroup(name, node)}`,
    failCgroupV1: false,
    failSwapOn: false,
    address: node.address,
    port: ports.kubelet,
    healthzPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(keys, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    // The default takes CAP_SYS_RESOURCE, which a host may withhold.
    oomScoreAdj: 0,
    maxOpenFiles: 20_000,
    maxPods: node.maxPods,
    podPidsLimit: -1,
    // A test host may be short of memory and disk, but must not evict its pods.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    makeIPTablesUtilChains: false,
    podLogsDir: join(state, 'pod-logs'),
    volumePluginDir: join(state, 'kubelet/volume-plugins'),
  }
}

/** Image of the container that holds a pod's namespaces, the same on every node. */
export const PAUSE_IMAGE = 'registry.k8s.io/pause:3.10'

const UNUSED_PLUGINS = [
  'io.containerd.nri.v1.nri',
  ...['blockfile', 'btrfs', 'devmapper', 'erofs', 'native', 'zfs'].map(
    (name) => `io.containerd.snapshotter.v1.${name}`,
  ),
  ...['io.containerd.differ.v1.erofs', 'io.containerd.mount-handler.v1.erofs'],
  'io.containerd.image-verifier.v1.bindir',
  ...['io.containerd.tracing.processor.v1.otlp', 'io.containerd.internal.v1.tracing'],
]

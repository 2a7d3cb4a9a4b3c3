import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ROOT } from '../commands.ts'
import { createApiClient } from './api-client.ts'
import { packImages } from './container-images.ts'
import { withLock } from './host-lock.ts'
import { noteHostState } from './host-state.ts'
import { formatKubeconfig, writeKeys, writeSecret } from './keys.ts'
import { createMasquerade } from './network.ts'
import { PAUSE_IMAGE, writeNodeConfiguration } from './node-configuration.ts'
import { findPart, launchPart, waitForPart } from './part-process.ts'
import { PARTS } from './part-table.ts'
import { buildPrograms } from './programs.ts'
import { type ClusterRecord, clusterPaths, createClusterRecord, readRecord } from './record.ts'
import { destroyCluster } from './stop.ts'

/** How a cluster is used. */
export interface RunningCluster {
  /** Path of its administrator's kubeconfig. */
  adminKubeconfig: string
  /** `BOXYARD_*` settings of an agent on its node. */
  settings: Record<string, string>
}

/**
 * Starts the cluster `name`, unless it runs, and tells how it is used once pods can be created.
 * Takes down the remains of an unfinished start first; a start that fails leaves its state and logs for inspection.
 */
export async function startCluster(name: string, say: (text: string) => void): Promise<RunningCluster> {
  return await withLock(`cluster:${name}`, async () => {
    if (isComplete(name)) return useOf(name)
    const programs = await buildPrograms(say)
    await destroyCluster(name)
    const startedAt = performance.now()
    say(`Starting the cluster ${name}`)
    const record = await withLock('host', async () => {
      noteHostState()
      return await createClusterRecord(name, programs)
    })
    await startNode(record)
    await installManifests(record)
    writeFileSync(completionOf(name), '')
    say(`The cluster ${name} is ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
    return useOf(name)
  })
}

function useOf(name: string): RunningCluster {
  const { adminKubeconfig, agentKubeconfig } = clusterPaths(name)
  const settings = {
    BOXYARD_RUNTIME: 'kubernetes',
    BOXYARD_KUBECONFIG: agentKubeconfig,
    BOXYARD_NODE: readRecord(name)?.node.name ?? '',
    BOXYARD_POD_IMAGE: PAUSE_IMAGE,
  }
  return { adminKubeconfig, settings }
}

/** True if all parts run and the start was completed. */
function isComplete(name: string): boolean {
  return (
    readRecord(name) !== null && existsSync(completionOf(name)) && PARTS.every((part) => findPart(name, part) !== null)
  )
}

function completionOf(name: string): string {
  return join(clusterPaths(name).run, 'complete')
}

async function startNode(record: ClusterRecord): Promise<void> {
  writeNodeConfiguration(record)
  createMasquerade(record)
  launchPart(record, 'etcd')
  launchPart(record, 'containerd')
  await writeKeys(record)
  launchPart(record, 'kube-apiserver')
  const images = waitForPart(record, 'containerd').then(() => importImages(record))
  await Promise.all([images, waitForPart(record, 'kube-apiserver')])
  for (const part of ['kubelet', 'kube-controller-manager', 'kube-scheduler'] as const) launchPart(record, part)
  await waitForNode(record)
}

async function importImages(record: ClusterRecord): Promise<void> {
  const { state, containerdSocket } = clusterPaths(record.name)
  const archive = join(state, 'images.tar')
  writeFileSync(archive, packImages())
  const command = ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'import', '--local', archive]
  await promisify(execFile)(join(record.programs, 'ctr'), command)
  rmSync(archive)
}

/** Waits until the node is ready and untainted, and the default namespace has the service account of its pods. */
async function waitForNode(record: ClusterRecord): Promise<void> {
  const deadline = performance.now() + NODE_DEADLINE_MS
  const client = createApiClient(record)
  const isUp = async (): Promise<boolean> => {
    const { isOk, body } = await client.get(`/api/v1/nodes/${record.node.name}`)
    if (!isOk || !takesPods(body)) return false
    return (await client.get('/api/v1/namespaces/default/serviceaccounts/default')).isOk
  }
  while (!(await isUp())) {
    for (const part of PARTS) await waitForPart(record, part)
    if (performance.now() > deadline) {
      throw new Error(`The node is not ready; see the logs in ${clusterPaths(record.name).log}.`)
    }
    await sleep(POLL_MS)
  }
}

function takesPods(node: Record<string, unknown>): boolean {
  const { spec, status } = node as {
    spec?: { taints?: unknown[] }
    status?: { conditions?: { type: string; status: string }[] }
  }
  const isReady = status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  return isReady && (spec?.taints ?? []).length === 0
}

/** Applies the product's manifests, as an operator does, and writes the kubeconfig of the agent's account. */
async function installManifests(record: ClusterRecord): Promise<void> {
  const manifests = join(ROOT, 'infra/kubernetes')
  if (!existsSync(manifests)) return
  const { state, adminKubeconfig, agentKubeconfig } = clusterPaths(record.name)
  const kubectl = async (...args: string[]): Promise<string> => {
    const command = ['--kubeconfig', adminKubeconfig, '--cache-dir', join(state, 'kubectl'), ...args]
    return (await promisify(execFile)(join(record.programs, 'kubectl'), command)).stdout
  }
  await kubectl('apply', '--kustomize', manifests)
  const token = await kubectl('create', 'token', 'boxyard-agent', '--namespace=boxyard-system', '--duration=24h')
  writeSecret(agentKubeconfig, formatKubeconfig(record, token.trim()))
}

const POLL_MS = 50
const NODE_DEADLINE_MS = 60_000

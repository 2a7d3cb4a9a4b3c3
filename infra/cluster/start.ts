import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createApiClient } from './api-client.ts'
import { packImages } from './container-images.ts'
import { withLock } from './host-lock.ts'
import { noteHostState } from './host-state.ts'
import { writeKeys } from './keys.ts'
import { applyManifests, writeAgentCredentials } from './manifests.ts'
import { createMasquerade } from './network.ts'
import { PAUSE_IMAGE, writeNodeConfiguration } from './node-configuration.ts'
import { makeNode } from './node-life.ts'
import { createBridge } from './node-space.ts'
import { clusterNodes, type NodeRecord, nodePaths } from './nodes.ts'
import { findPart, launchPart, waitForPart } from './part-process.ts'
import { clusterParts, nodePart } from './part-table.ts'
import { buildPrograms } from './programs.ts'
import { type ClusterRecord, clusterPaths, createClusterRecord, readRecord } from './record.ts'
import { destroyCluster } from './stop.ts'

/** How to use a cluster. */
export interface RunningCluster {
  /** Path of its administrator's kubeconfig. */
  adminKubeconfig: string
  nodes: NodeUse[]
}

/** How to use a node of a cluster. */
export interface NodeUse {
  name: string
  /** `BOXYARD_*` settings of an agent on the node. */
  settings: Record<string, string>
  /** Path of a program that starts another one, its arguments, on the node. Null for this host itself. */
  enter: string | null
}

/**
 * Starts the cluster `name` with the given number of nodes (default 1), unless it runs. Once pods can be created, returns how to use it.
 * First removes the remains of an unfinished start. A failed start leaves its state and logs for inspection.
 * @throws Error if it runs with another number of nodes
 */
export async function startCluster(
  name: string,
  say: (text: string) => void,
  nodeCount?: number,
): Promise<RunningCluster> {
  return await withLock(`cluster:${name}`, async () => {
    const running = findComplete(name)
    if (running !== null) {
      if (nodeCount === undefined || nodeCount === running.nodeCount) return useOf(running)
      throw new Error(
        `The cluster ${name} already runs with ${running.nodeCount} nodes. Stop it first: npm run cluster:down -- ${name}`,
      )
    }
    const programs = await buildPrograms(say)
    await destroyCluster(name)
    const startedAt = performance.now()
    say(`Starting the cluster ${name}`)
    const record = await withLock('host', async () => {
      noteHostState()
      return await createClusterRecord(name, programs, nodeCount)
    })
    await startParts(record)
    await applyManifests(record)
    await writeAgentCredentials(record)
    writeFileSync(completionOf(name), '')
    say(`The cluster ${name} is ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
    return useOf(record)
  })
}

function useOf(record: ClusterRecord): RunningCluster {
  const nodes = clusterNodes(record).map((node) => ({
    name: node.name,
    settings: {
      BOXYARD_RUNTIME: 'kubernetes',
      BOXYARD_KUBECONFIG: nodePaths(record.name, node).agentKubeconfig,
      BOXYARD_NODE: node.name,
      BOXYARD_POD_IMAGE: PAUSE_IMAGE,
      ...(record.nodeCount === 1 ? {} : ofSeveral(record, node)),
    },
    enter: record.nodeCount === 1 ? null : nodePaths(record.name, node).enter,
  }))
  return { adminKubeconfig: clusterPaths(record.name).adminKubeconfig, nodes }
}

/** Returns settings by which agents on several nodes of this host do not share a directory, and are reached from without. */
function ofSeveral(record: ClusterRecord, node: NodeRecord): Record<string, string> {
  return { BOXYARD_DATA_DIR: nodePaths(record.name, node).agentData, BOXYARD_HOST: node.address }
}

/** Returns the record of a cluster if all its parts run and the start was completed. */
function findComplete(name: string): ClusterRecord | null {
  const record = readRecord(name)
  if (record === null || !hasStarted(name)) return null
  return clusterParts(record).every((part) => findPart(name, part) !== null) ? record : null
}

/** Returns whether a cluster has started completely since this host booted. Parts may have ended since. */
export function hasStarted(name: string): boolean {
  return existsSync(completionOf(name))
}

function completionOf(name: string): string {
  return join(clusterPaths(name).run, 'complete')
}

async function startParts(record: ClusterRecord): Promise<void> {
  const nodes = clusterNodes(record)
  for (const node of nodes) writeNodeConfiguration(record, node)
  createMasquerade(record)
  launchPart(record, 'etcd')
  if (record.nodeCount > 1) {
    createBridge(record)
    await Promise.all(nodes.map((node) => makeNode(record, node)))
  }
  for (const node of nodes) launchPart(record, nodePart('containerd', node))
  await writeKeys(record)
  launchPart(record, 'kube-apiserver')
  await Promise.all([importImages(record, nodes), waitForPart(record, 'kube-apiserver')])
  for (const node of nodes) launchPart(record, nodePart('kubelet', node))
  for (const part of ['kube-controller-manager', 'kube-scheduler'] as const) launchPart(record, part)
  await waitForNodes(record, nodes)
}

async function importImages(record: ClusterRecord, nodes: readonly NodeRecord[]): Promise<void> {
  const archive = join(clusterPaths(record.name).state, 'images.tar')
  writeFileSync(archive, packImages())
  const load = async (node: NodeRecord): Promise<void> => {
    await waitForPart(record, nodePart('containerd', node))
    const { containerdSocket } = nodePaths(record.name, node)
    const command = ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'import', '--local', archive]
    await promisify(execFile)(join(record.programs, 'ctr'), command)
  }
  await Promise.all(nodes.map(load))
  rmSync(archive)
}

/** Waits until all nodes are ready and untainted, and the default namespace has the service account of its pods. */
async function waitForNodes(record: ClusterRecord, nodes: readonly NodeRecord[]): Promise<void> {
  const deadline = performance.now() + NODE_DEADLINE_MS
  const client = createApiClient(record)
  const isUp = async (): Promise<boolean> => {
    for (const { name } of nodes) {
      const { isOk, body } = await client.get(`/api/v1/nodes/${name}`)
      if (!isOk || !takesPods(body)) return false
    }
    return (await client.get('/api/v1/namespaces/default/serviceaccounts/default')).isOk
  }
  while (!(await isUp())) {
    for (const part of clusterParts(record)) await waitForPart(record, part)
    if (performance.now() > deadline) {
      throw new Error(`A node is not ready. See the logs in ${clusterPaths(record.name).log}.`)
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

const POLL_MS = 50
const NODE_DEADLINE_MS = 60_000

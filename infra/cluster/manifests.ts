import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../commands.ts'
import { formatKubeconfig, writeSecret } from './keys.ts'
import { clusterNodes, nodePaths } from './nodes.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

/** Applies the product's manifests as an operator would. */
export async function applyManifests(record: ClusterRecord): Promise<void> {
  if (existsSync(MANIFESTS)) await runKubectl(record, 'apply', '--kustomize', MANIFESTS)
}

/** Writes the kubeconfig of each node's agent, with a token that lasts a day. A running agent uses it at once. */
export async function writeAgentCredentials(record: ClusterRecord): Promise<void> {
  if (!existsSync(MANIFESTS)) return
  for (const node of clusterNodes(record)) {
    // With several agents, each token names its node, and ends with it.
    const bound = record.nodeCount === 1 ? [] : ['--bound-object-kind=Node', `--bound-object-name=${node.name}`]
    const of = ['boxyard-agent', '--namespace=boxyard-system', '--duration=24h']
    const token = await runKubectl(record, 'create', 'token', ...of, ...bound)
    writeSecret(nodePaths(record.name, node).agentKubeconfig, formatKubeconfig(record, token.trim()))
  }
}

/** Runs kubectl as the administrator of a cluster, and returns its output. @throws Error with its message */
async function runKubectl(record: ClusterRecord, ...args: string[]): Promise<string> {
  const { state, adminKubeconfig } = clusterPaths(record.name)
  const command = ['--kubeconfig', adminKubeconfig, '--cache-dir', join(state, 'kubectl'), ...args]
  return (await promisify(execFile)(join(record.programs, 'kubectl'), command)).stdout
}

const MANIFESTS = join(ROOT, 'infra/kubernetes')

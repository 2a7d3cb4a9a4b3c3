import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createCgroups, destroyCgroups } from './cgroups.ts'
import { disconnectNode, enterCommand, furnishNode } from './node-space.ts'
import { clusterNodes, type NodeRecord, nodeCgroup, nodePaths } from './nodes.ts'
import { findHolder, findPart, launchPart, waitForPart } from './part-process.ts'
import { nodePart } from './part-table.ts'
import { type ClusterRecord, readRecord } from './record.ts'

/** Creates the namespaces of a node of several. Forgets what an earlier one had in memory, like a machine that reboots. */
export async function makeNode(record: ClusterRecord, node: NodeRecord): Promise<void> {
  disconnectNode(record, node)
  const { run } = nodePaths(record.name, node)
  rmSync(run, { recursive: true, force: true })
  mkdirSync(run, { recursive: true, mode: 0o711 })
  const holder = nodePart('node', node)
  launchPart(record, holder)
  await waitForPart(record, holder)
  furnishNode(record, node, findHolder(record.name, node))
  writeEnter(record, node)
}

/** Writes the program that starts another one on a node, in the same directory. The started program ends with the node. */
function writeEnter({ name }: ClusterRecord, node: NodeRecord): void {
  const cgroup = createCgroups(nodeCgroup(name, node))
  const join = enterCommand(findHolder(name, node)).join(' ')
  const inside = `sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@"`
  const script = `#!/bin/sh\necho $$ >${cgroup} && exec ${join} ${inside}\n`
  writeFileSync(nodePaths(name, node).enter, script, { mode: 0o755 })
}

/**
 * Ends node `number` of a cluster of several like a power cut: all its processes at once, including containers and agents. Its disk stays.
 */
export async function stopNode(cluster: string, number: number): Promise<void> {
  const { record, node } = findNode(cluster, number)
  if (!(await destroyCgroups(nodeCgroup(cluster, node)))) throw new Error(`Processes of ${node.name} do not exit.`)
  disconnectNode(record, node)
}

/** Starts a stopped node, or the ended parts of a running one, and resolves when its kubelet answers. */
export async function startNode(cluster: string, number: number): Promise<void> {
  const { record, node } = findNode(cluster, number)
  if (findPart(cluster, nodePart('node', node)) === null) await makeNode(record, node)
  for (const part of [nodePart('containerd', node), nodePart('kubelet', node)]) {
    launchPart(record, part)
    await waitForPart(record, part)
  }
}

function findNode(cluster: string, number: number): { record: ClusterRecord; node: NodeRecord } {
  const record = readRecord(cluster)
  const node = record === null ? undefined : clusterNodes(record)[number - 1]
  if (record === null || node === undefined) throw new Error(`There is no node ${number} in a cluster ${cluster}.`)
  if (record.nodeCount === 1) throw new Error('The only node of a cluster is this host.')
  return { record, node }
}

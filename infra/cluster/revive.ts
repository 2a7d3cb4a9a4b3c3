import { withLock } from './host-lock.ts'
import { startNode, stopNode } from './node-life.ts'
import { clusterNodes } from './nodes.ts'
import { findPart, launchPart, waitForPart } from './part-process.ts'
import { nodePart } from './part-table.ts'
import { readRecord } from './record.ts'
import { hasStarted } from './start.ts'

/**
 * Restarts the ended parts of a cluster of several nodes that has started completely since this host booted. Keeps its data, like machines
 * that reboot. Returns false, and changes nothing, if there is no such cluster.
 */
export async function reviveCluster(name: string): Promise<boolean> {
  return await withLock(`cluster:${name}`, async () => {
    const record = readRecord(name)
    if (record === null || !hasStarted(name)) return false
    for (const part of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const) {
      launchPart(record, part)
      await waitForPart(record, part)
    }
    for (const node of clusterNodes(record)) {
      // Processes that still run of a node without namespaces belong to one that is gone.
      if (findPart(name, nodePart('node', node)) === null) await stopNode(name, node.number)
      await startNode(name, node.number)
    }
    return true
  })
}

import { withLock } from './host-lock.ts'
import { startNode, stopNode } from './node-life.ts'
import { clusterNodes } from './nodes.ts'
import { findPart, launchPart, waitForPart } from './part-process.ts'
import { nodePart } from './part-table.ts'
import { readRecord } from './record.ts'
import { hasStarted } from './start.ts'

/**
 * Starts what has ended of a cluster of several nodes whose start was completed since this host has booted: its data is kept, as that of
 * machines that start again. Returns false, and changes nothing, if there is none such.
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
      // What still runs of a node without namespaces belongs to one that is gone.
      if (findPart(name, nodePart('node', node)) === null) await stopNode(name, node.number)
      await startNode(name, node.number)
    }
    return true
  })
}

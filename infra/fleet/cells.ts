import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { clusterNodes, nodePaths } from '../cluster/nodes.ts'
import { type ClusterRecord, clusterPaths } from '../cluster/record.ts'
import { findInstance, type InstanceLock, lockInstance } from '../instance-lock.ts'

/** A cell of a fleet on this machine: one agent with its front, on its own node. */
export interface RigCell {
  /** Its number, such as `n2`. */
  cell: string
  node: string
  /** Address of the node, by which this host and the other nodes reach it. */
  address: string
  dataDir: string
  /** Path of the program that starts another one on the node. */
  enter: string
  /** The kubeconfig of its agent. */
  kubeconfig: string
}

/** Directory of a fleet's other files. It is part of the cluster's directory, and is removed with it. */
export function fleetDirectory(name: string): string {
  return join(clusterPaths(name).state, 'fleet')
}

/** Returns whether a fleet of this name exists, or parts of one. */
export function isFleet(name: string): boolean {
  return existsSync(fleetDirectory(name))
}

/** Returns the cells of a fleet, one for each node of its cluster. */
export function fleetCells(record: ClusterRecord): RigCell[] {
  return clusterNodes(record).map((node) => {
    const { agentKubeconfig: kubeconfig, agentData: dataDir, enter } = nodePaths(record.name, node)
    return { cell: `n${node.number}`, node: node.name, address: node.address, dataDir, enter, kubeconfig }
  })
}

/** Makes this process the runner of the fleet, or returns the pid of the current runner. */
export function lockFleet(name: string): Promise<InstanceLock | { heldBy: number }> {
  return lockInstance(lockOf(name))
}

/** Returns the pid of the process that runs the fleet, or null. */
export function findFleet(name: string): Promise<number | null> {
  return findInstance(lockOf(name))
}

function lockOf(name: string): string {
  return `boxyard-fleet:${name}`
}

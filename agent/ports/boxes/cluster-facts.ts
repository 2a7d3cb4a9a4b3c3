/** The cluster that boxes run on, as the health report shows it. */
export interface ClusterFacts {
  /** Measured at the call or some seconds before. Resolves within seconds even if the cluster hangs. */
  report(): Promise<ClusterReport>
}

export interface ClusterReport {
  /** Namespace of the boxes' pods; empty without a cluster. */
  namespace: string
  /** Empty if they cannot be measured; `problems` then has the reason. */
  nodes: ClusterNode[]
  problems: ClusterProblem[]
}

/** Capacity and use of a node; names and units are those of the API. */
export interface ClusterNode {
  name: string
  /** Quantities in Kubernetes notation, such as `1930m`. */
  cpu_allocatable: string
  cpu_capacity: string
  memory_allocatable_bytes: number
  memory_capacity_bytes: number
  pods_allocatable: number
  pods_capacity: number
  /** All running pods of the node. */
  pods_running: number
  /** Pods that are boxes of this deployment. */
  boxes: number
  ready: boolean
}

/** A present problem of the cluster; `remedy` is one sentence. */
export interface ClusterProblem {
  code: string
  evidence: string
  remedy: string
}

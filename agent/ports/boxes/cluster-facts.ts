/** The cluster that boxes run on, as the health report shows it. */
export interface ClusterFacts {
  /** Measured at the call or some seconds before. Resolves within seconds even if the cluster hangs. */
  report(): Promise<ClusterReport>
  /**
   * Returns whether this node accepts new boxes, as the cluster reports now. @throws ServiceError `runtime_unavailable` if it cannot be
   * asked
   */
  place(): Promise<NodePlace>
  /** Calls `listener` each time that the cluster has no place for a box. Returns a function that removes it. */
  onRefusal(listener: () => void): () => void
}

/** Room for new boxes on a node. */
export interface NodePlace {
  /** Number of pods that are ready for new boxes. */
  warm: number
  /** Why the node accepts no boxes, as the cluster reports it. Null: it accepts them. */
  refusal: string | null
}

export interface ClusterReport {
  /** Namespace of the boxes' pods. Empty without a cluster. */
  namespace: string
  /** Empty if they cannot be measured. `problems` then has the reason. */
  nodes: ClusterNode[]
  problems: ClusterProblem[]
}

/** Capacity and use of a node. Names and units match the API. */
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

/** A present problem of the cluster. */
export interface ClusterProblem {
  code: string
  evidence: string
  remedy: string
}

/** What the health report tells of the cluster that boxes run on. */
export interface ClusterFacts {
  /** Measured at the call, or seconds before; answers within seconds, whatever the cluster does. */
  report(): Promise<ClusterReport>
}

export interface ClusterReport {
  /** Where the pods of boxes are; empty without a cluster. */
  namespace: string
  /** Empty if they cannot be measured: the problems say why. */
  nodes: ClusterNode[]
  problems: ClusterProblem[]
}

/** Figures of a node, named and in units as the API tells them. */
export interface ClusterNode {
  name: string
  /** Quantities as the cluster writes them, such as `1930m`. */
  cpu_allocatable: string
  cpu_capacity: string
  memory_allocatable_bytes: number
  memory_capacity_bytes: number
  pods_allocatable: number
  pods_capacity: number
  /** All pods that run there. */
  pods_running: number
  /** Those of them that are boxes of this deployment. */
  boxes: number
  ready: boolean
}

/** What is wrong with the cluster now; `remedy` is one sentence. */
export interface ClusterProblem {
  code: string
  evidence: string
  remedy: string
}

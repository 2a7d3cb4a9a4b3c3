import type { ClusterFacts } from './cluster-facts.ts'
import type { HostNetwork } from './network.ts'
import type { Runtime } from './runtime.ts'

/** The opened environment of boxes: a single host, or a cluster. */
export interface World {
  network: HostNetwork
  runtime: Runtime
  cluster: ClusterFacts
}

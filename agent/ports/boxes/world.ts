import type { ClusterFacts } from './cluster-facts.ts'
import type { HostNetwork } from './network.ts'
import type { Runtime } from './runtime.ts'

/** What boxes run in, open: one host's own means, or a cluster. */
export interface World {
  network: HostNetwork
  runtime: Runtime
  cluster: ClusterFacts
}

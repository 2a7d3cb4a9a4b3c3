import type { BoxPlaces } from './box-places.ts'
import type { ClusterFacts } from './cluster-facts.ts'
import type { HostNetwork } from './network.ts'
import type { Runtime } from './runtime.ts'

/** The opened environment of boxes: a single host, or a cluster. */
export interface World {
  network: HostNetwork
  runtime: Runtime
  cluster: ClusterFacts
  /** Places that the scheduler of a fleet's cluster chooses. Null: there is none. */
  places: BoxPlaces | null
  /** Starts in the background what the first box and the first mount would wait for. Without it they start it themselves. */
  warmUp(): void
}

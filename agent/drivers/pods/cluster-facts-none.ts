import type { ClusterFacts } from '../../ports/boxes/cluster-facts.ts'

/** The facts where boxes run on one host without a cluster: none. */
export function createNoClusterFacts(): ClusterFacts {
  return { report: async () => ({ namespace: '', nodes: [], problems: [] }) }
}

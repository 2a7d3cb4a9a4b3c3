import { hostname } from 'node:os'

/** The cluster for the tests. */
export interface ClusterOfTests {
  /** Kubeconfig of the agent's own account. */
  kubeconfig: string
  /** Name of the cluster's node, which is this host. */
  node: string
  /** An image that the node has. */
  image: string
}

/** Returns the runtime under test from `TEST_RUNTIME`. The default is the embedded runtime of this host. */
export function runtimeOfTests(): 'embedded' | 'kubernetes' {
  return process.env['TEST_RUNTIME'] === 'kubernetes' ? 'kubernetes' : 'embedded'
}

/** Reads the cluster from the environment. @throws Error if it has none, because such a test must not pass */
export function clusterOfTests(): ClusterOfTests {
  const kubeconfig = process.env['BOXYARD_TEST_AGENT_KUBECONFIG']
  if (kubeconfig === undefined) throw new Error('There is no cluster: run `npm test -- cluster`.')
  return { kubeconfig, node: hostname(), image: 'registry.k8s.io/pause:3.10' }
}

import { hostname } from 'node:os'

/** The cluster given to the tests. */
export interface ClusterOfTests {
  /** Kubeconfig of the agent's own account. */
  kubeconfig: string
  /** Name of its node, which is this host. */
  node: string
  /** An image that the node has. */
  image: string
}

/** Returns the runtime under test: `TEST_RUNTIME`, by default this host alone. */
export function runtimeOfTests(): 'embedded' | 'kubernetes' {
  return process.env['TEST_RUNTIME'] === 'kubernetes' ? 'kubernetes' : 'embedded'
}

/** Reads the cluster from the environment. @throws Error if there is none, since such a test must not pass */
export function clusterOfTests(): ClusterOfTests {
  const kubeconfig = process.env['BOXYARD_TEST_AGENT_KUBECONFIG']
  if (kubeconfig === undefined) throw new Error('There is no cluster: run `npm test -- cluster`.')
  return { kubeconfig, node: hostname(), image: 'registry.k8s.io/pause:3.10' }
}

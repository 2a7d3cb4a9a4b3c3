import { hostname } from 'node:os'

/** The cluster that the tests were given. */
export interface TestCluster {
  /** Of the agent's own account. */
  kubeconfig: string
  /** The name of its node, which is this host. */
  node: string
  /** An image that the node has. */
  image: string
}

/** Where the boxes of these tests run: `TEST_RUNTIME`, by default this host alone. */
export function runtimeOfTests(): 'embedded' | 'kubernetes' {
  return process.env['TEST_RUNTIME'] === 'kubernetes' ? 'kubernetes' : 'embedded'
}

/** Reads it from the environment; throws where there is none, since a test without it shows nothing. */
export function clusterOfTests(): TestCluster {
  const kubeconfig = process.env['BOXYARD_TEST_AGENT_KUBECONFIG']
  if (kubeconfig === undefined) throw new Error('There is no cluster: run `npm test -- cluster`.')
  return { kubeconfig, node: hostname(), image: 'registry.k8s.io/pause:3.10' }
}

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findBuildObstacle, findProgram } from './programs.ts'
import { clusterPaths, listClusters } from './record.ts'
import { startCluster } from './start.ts'
import { stopCluster } from './stop.ts'

/** The cluster of a test run. */
export interface TestCluster {
  /** Starts the cluster if it belongs only to this run. Resolves with the environment by which tests find it. */
  start(): Promise<Record<string, string>>
  /** Removes the cluster if it belongs only to this run, after a start in progress has finished. */
  close(): Promise<void>
}

/**
 * Returns the cluster of KUBECONFIG if that is set. The agent's kubeconfig is then BOXYARD_TEST_AGENT_KUBECONFIG, or lies beside it.
 * Otherwise returns a cluster only for this process, or the reason why there is none.
 */
export function findTestCluster(say: (text: string) => void): TestCluster | { obstacle: string } {
  const given = process.env['KUBECONFIG']
  if (given) {
    const agent = process.env['BOXYARD_TEST_AGENT_KUBECONFIG'] || join(dirname(given), 'agent.kubeconfig')
    const missing = [given, agent].find((path) => !existsSync(path))
    if (missing !== undefined) return { obstacle: `${missing} does not exist` }
    return { start: async () => describeCluster(given, agent), close: async () => undefined }
  }
  const obstacle = findBuildObstacle()
  if (obstacle !== null) return { obstacle: `KUBECONFIG is not set. ${obstacle}` }
  const name = `test-${process.pid}`
  return {
    start: async () => {
      await stopOrphans()
      const { adminKubeconfig: kubeconfig } = await startCluster(name, say)
      const { agentKubeconfig, state } = clusterPaths(name)
      // Keeps kubectl's discovery cache of a short-lived cluster out of the user's home directory.
      return { ...describeCluster(kubeconfig, agentKubeconfig), KUBECACHEDIR: join(state, 'kubectl') }
    },
    close: async () => void (await stopCluster(name)),
  }
}

function describeCluster(kubeconfig: string, agentKubeconfig: string): Record<string, string> {
  return {
    KUBECONFIG: kubeconfig,
    BOXYARD_TEST_AGENT_KUBECONFIG: agentKubeconfig,
    BOXYARD_TEST_KUBECTL: findProgram('kubectl'),
  }
}

/** Stops the clusters of killed test runs. */
async function stopOrphans(): Promise<void> {
  for (const name of listClusters()) {
    const [, pid] = /^test-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await stopCluster(name)
  }
}

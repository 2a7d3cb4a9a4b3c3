import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { clusterPaths, listClusters } from './cluster-record.ts'
import { startCluster } from './cluster-start.ts'
import { stopCluster } from './cluster-stop.ts'
import { findBuildObstacle, findProgram } from './programs.ts'

/** The cluster of a run of tests. */
export interface TestCluster {
  /** Starts it, if it is one for this run alone; the answer tells the tests of it. */
  start(): Promise<Record<string, string>>
  /** Takes it down, if it is one for this run alone, once a start that goes on has come to its end. */
  close(): Promise<void>
}

/**
 * The cluster of KUBECONFIG if that is given (the agent's kubeconfig is then BOXYARD_TEST_AGENT_KUBECONFIG, or lies beside it),
 * else one for this process alone. The answer is the reason where neither can be.
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
      const kubeconfig = await startCluster(name, say)
      const { agentKubeconfig, state } = clusterPaths(name)
      // Else kubectl would keep what it learns of a cluster that is soon gone in the home of whoever runs the tests.
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

/** Those whose run of tests was killed. */
async function stopOrphans(): Promise<void> {
  for (const name of listClusters()) {
    const [, pid] = /^test-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await stopCluster(name)
  }
}

import { openKubeCredentials } from '../../../agent/lib/kube/credentials.ts'
import { findTestCluster } from '../../../infra/cluster/test-cluster.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { benchClusterBurst } from './burst.ts'
import { benchClusterExec } from './exec.ts'
import { benchClusterCold, benchClusterWarm } from './first-exec.ts'
import { openKubePeer } from './peer.ts'
import { benchClusterRest } from './rest.ts'
import type { ClusterBench } from './service.ts'

/** Benchmarks boxes as pods of a real cluster against its bare API. `cluster` selects all sections. */
export async function benchCluster(wants: (name: string) => boolean): Promise<void> {
  const sections = Object.entries(SECTIONS).filter(([name]) => wants('cluster') || wants(name))
  if (sections.length === 0) return
  const cluster = findTestCluster((text) => process.stdout.write(`${text}\n`))
  if ('obstacle' in cluster) {
    process.stdout.write(`The figures of the cluster are not measured: ${cluster.obstacle}.\n`)
    return
  }
  const end = (): void => void cluster.close().finally(() => process.exit(1))
  for (const signal of ENDING_SIGNALS) process.once(signal, end)
  try {
    const { KUBECONFIG = '', BOXYARD_TEST_AGENT_KUBECONFIG: agentKubeconfig = '' } = await cluster.start()
    const credentials = await openKubeCredentials(KUBECONFIG, silentLogger)
    const admin = await credentials.current()
    const peer = await openKubePeer(admin)
    const bench: ClusterBench = { admin, agentKubeconfig, peer }
    try {
      for (const [, section] of sections) await section(bench)
    } finally {
      await peer.close()
      credentials.close()
    }
  } finally {
    for (const signal of ENDING_SIGNALS) process.removeListener(signal, end)
    await cluster.close()
  }
}

const SECTIONS = {
  'cluster-cold': benchClusterCold,
  'cluster-warm': benchClusterWarm,
  'cluster-exec': benchClusterExec,
  'cluster-burst': benchClusterBurst,
  'cluster-rest': benchClusterRest,
}
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

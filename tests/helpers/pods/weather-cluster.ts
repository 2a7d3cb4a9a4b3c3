import { readFileSync } from 'node:fs'
import { formatKubeconfig, writeSecret } from '../../../infra/cluster/keys.ts'
import { type ClusterRecord, clusterPaths, readRecord } from '../../../infra/cluster/record.ts'
import { startCluster } from '../../../infra/cluster/start.ts'
import { stopCluster } from '../../../infra/cluster/stop.ts'
import { type TestServiceOptions } from '../service.ts'
import { startWeather, type Weather } from './weather.ts'

/** A cluster for one test file, with a service in it. A test can kill its parts. */
export interface WeatherCluster extends Weather {
  /** Name of the cluster. */
  name: string
  record: ClusterRecord
  /** Token of the agent's account. */
  token: string
  /** Rewrites the agent's kubeconfig. */
  writeAgentKubeconfig(how: { port?: number; token?: string }): void
}

/** Starts a cluster. Its name is like a test run's cluster, so that the next run removes it if this process dies. */
export async function startWeatherCluster(options: TestServiceOptions = {}): Promise<WeatherCluster> {
  const name = `test-${process.pid}`
  const { adminKubeconfig: kubeconfig } = await startCluster(name, () => undefined)
  try {
    const { agentKubeconfig } = clusterPaths(name)
    const record = readRecord(name)
    if (record === null) throw new Error('The cluster has no record.')
    const { token } = JSON.parse(readFileSync(agentKubeconfig, 'utf8')).users[0].user
    const settings = { ...options.settings, BOXYARD_KUBECONFIG: agentKubeconfig }
    const weather = await startWeather({ ...options, kubeconfig, settings })
    return {
      ...weather,
      name,
      record,
      token,
      writeAgentKubeconfig: ({ port = record.ports.apiServer, token: other = token }) => {
        const ports = { ...record.ports, apiServer: port }
        writeSecret(agentKubeconfig, formatKubeconfig({ ...record, ports }, other))
      },
      close: async () => {
        try {
          await weather.close()
        } finally {
          await stopCluster(name)
        }
      },
    }
  } catch (error) {
    await stopCluster(name)
    throw error
  }
}

import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { apiServerAddress } from './nodes.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

export interface ApiAnswer {
  isOk: boolean
  /** The JSON of the answer, or {} if it is not JSON. */
  body: Record<string, unknown>
}

/** Reads from a cluster's API server as its admin. A request without an answer resolves as not ok, whatever the cause. */
export function createApiClient(record: ClusterRecord): { get(path: string): Promise<ApiAnswer> } {
  const { name, ports } = record
  const { users, clusters } = JSON.parse(readFileSync(clusterPaths(name).adminKubeconfig, 'utf8')) as Kubeconfig
  const ca = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64')
  const headers = { authorization: `Bearer ${users[0].user.token}` }
  return {
    get: (path) =>
      new Promise((resolve) => {
        const fail = (): void => resolve({ isOk: false, body: {} })
        const options = {
          host: apiServerAddress(record),
          port: ports.apiServer,
          path,
          ca,
          headers,
          timeout: TIMEOUT_MS,
        }
        const asked = request(options, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk
          })
          response.on('error', fail)
          response.on('end', () => resolve({ isOk: response.statusCode === 200, body: parse(text) }))
        })
        asked.on('error', fail).on('timeout', () => asked.destroy())
        asked.end()
      }),
  }
}

interface Kubeconfig {
  clusters: [{ cluster: { 'certificate-authority-data': string } }]
  users: [{ user: { token: string } }]
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

const TIMEOUT_MS = 5_000

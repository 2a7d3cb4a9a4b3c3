import { hostname } from 'node:os'
import type { KubeAccess } from '../../../agent/lib/kube/credentials.ts'
import { instanceOf } from '../../helpers/boxes/world.ts'
import { type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { boxPath } from '../context.ts'
import type { KubePeer } from './peer.ts'
import { type PodView, watchPods } from './pods.ts'

/** Shared context of the cluster sections. */
export interface ClusterBench {
  /** Access of the cluster's admin. */
  admin: KubeAccess
  /** Kubeconfig of the agent's own account. */
  agentKubeconfig: string
  peer: KubePeer
}

/** A service whose boxes are pods, with a view of these pods. */
export interface ClusterService {
  service: TestService
  client: Client
  /** All pods of this service. */
  pods: PodView
  close(): Promise<void>
}

/** Starts an agent with the rights of its account, and a front. */
export async function startClusterService(
  { admin, agentKubeconfig }: ClusterBench,
  settings: Record<string, string> = {},
): Promise<ClusterService> {
  const service = await startService({
    settings: {
      BOXYARD_RUNTIME: 'kubernetes',
      BOXYARD_KUBECONFIG: agentKubeconfig,
      BOXYARD_NODE: hostname().toLowerCase(),
      BOXYARD_POOL_GB: '2',
      ...settings,
    },
  })
  const pods = await watchPods(admin, 'boxyard', `boxyard.dev/instance=${instanceOf(service)}`)
  return {
    service,
    client: createClient(
      () => service.url,
      () => service.adminToken,
    ),
    pods,
    close: async () => {
      pods.close()
      await service.close()
    },
  }
}

/** Runs `true` in a box and waits for its exit code. */
export async function execTrue(client: Client, name: string): Promise<void> {
  const { body, text } = await client.post(`${boxPath(name)}/exec`, { command: ['true'] })
  if (body.exit_code !== 0) throw new Error(`exec in ${name}: ${text}`)
}

/** Waits until this service has no pods. */
export function untilNoPods({ pods }: ClusterService): Promise<void> {
  return pods.until('the pods of deleted boxes are gone', (all) => all.length === 0)
}

import { ServiceError } from '../../../shared/errors.ts'
import { timestamp } from '../../../shared/time.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import { isKubeError } from '../../lib/kube/errors.ts'
import type { Registration } from '../../ports/fleet/registration.ts'

export interface RegistrationSettings {
  api: Pick<KubeApi, 'objects' | 'nodes' | 'addToConfigMap'>
  cell: string
  /** Name of the Node that the agent is on. */
  node: string
  /** Id of the data directory. */
  instance: string
  /** Milliseconds since the epoch. */
  now(): number
}

/** Creates the registration of a cell on a node: its entry in the ConfigMap of the cells, and its Agent object. */
export function createKubeRegistration({ api, cell, node, instance, now }: RegistrationSettings): Registration {
  const agents = api.objects('Agent')
  const patch = async (spec: object): Promise<boolean> => {
    try {
      return (await agents.patch(cell, { spec })) !== null
    } catch (error) {
      if (!isKubeError(error, 'invalid')) throw error
      const remedy = `give this one its own number, or delete the Agent ${cell} if the other is gone permanently`
      const detail = `Cell ${cell} belongs to another data directory: ${remedy}.`
      throw new ServiceError('runtime_unavailable', detail, { cause: error })
    }
  }
  const findNodeUid = async (): Promise<string> => {
    const uid = (await api.nodes({ name: node }))[0]?.metadata?.uid
    if (uid !== undefined) return uid
    throw new ServiceError(
      'runtime_unavailable',
      `The cluster has no node "${node}". Set BOXYARD_NODE to the name of this host in the cluster.`,
    )
  }
  return {
    join: () => api.addToConfigMap(CELLS, { [cell]: node }),
    announce: async ({ edgeAddress, ...addresses }) => {
      const spec = { cell, node, nodeUid: await findNodeUid(), instance, edgeAddress, ...addresses, protocol: PROTOCOL }
      if (await patch(spec)) return
      try {
        await agents.create(cell, spec)
      } catch (error) {
        // An earlier attempt, whose answer was lost, has created it.
        if (!isKubeError(error, 'exists')) throw error
        await patch(spec)
      }
    },
    report: async ({ isReady, isDraining, free, warm, bases }) => {
      const status = { ready: isReady, draining: isDraining, free, warm, bases, heartbeatAt: timestamp(now()) }
      return (await agents.patch(cell, { status }, 'status'))?.spec?.['instance'] === instance
    },
  }
}

/** Records which node each cell is on (infra/kubernetes/fleet-cells.yaml). */
const CELLS = { namespace: 'boxyard-system', name: 'boxyard-cells' }
/** Version of the protocol between agents. */
const PROTOCOL = 1

import type { Deploys } from '../services/deploys.ts'
import type { ServiceState, Services } from '../services/services.ts'
import type { Traffic } from '../services/traffic.ts'

/** The services of the API, whose changes are answered once requests follow them. */
export function routedServices(services: Services, traffic: Pick<Traffic, 'settle'>): Services {
  return {
    ...services,
    put: (caller, ref, wanted) => settled(services.put(caller, ref, wanted), traffic),
    remove: async (ref, ifMatch) => {
      const { box } = await services.get(ref)
      await services.remove(ref, ifMatch)
      await traffic.settle(box.id)
    },
  }
}

/** The versions of services of the API, whose changes are answered once requests follow them. */
export function routedDeploys(deploys: Deploys, traffic: Pick<Traffic, 'settle'>): Deploys {
  return {
    deploy: (caller, ref, wanted) => settled(deploys.deploy(caller, ref, wanted), traffic),
    promote: (caller, ref, how) => settled(deploys.promote(caller, ref, how), traffic),
    rollback: (caller, ref, how) => settled(deploys.rollback(caller, ref, how), traffic),
    discard: (caller, ref, how) => settled(deploys.discard(caller, ref, how), traffic),
  }
}

async function settled<T extends ServiceState>(mutating: Promise<T>, traffic: Pick<Traffic, 'settle'>): Promise<T> {
  const state = await mutating
  await traffic.settle(state.box.id)
  return state
}

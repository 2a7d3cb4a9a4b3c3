import { sharedBaseNames } from '../core/bases/bases.ts'
import { measureFree } from '../core/common/admission.ts'
import type { CellStatus } from '../ports/fleet/registration.ts'
import type { HostFacts } from '../ports/host/facts.ts'
import type { Store } from '../ports/store/store.ts'
import type { DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'

/** Measures the status of this cell, for the others of its fleet. */
export async function measureCell({
  settings: { limits },
  drivers: { cluster, filesystem, places },
  ...own
}: Pick<DeploymentDeps, 'settings'> & {
  drivers: Drivers
  store: Store
  host: HostFacts
  state: { isDraining: boolean }
}): Promise<CellStatus> {
  const { isDraining } = own.state
  const { warm, refusal } = await cluster.place()
  const free = await measureFree({ ...own, filesystem, limits })
  const bases = await sharedBaseNames(own.store)
  return {
    isReady: !isDraining,
    isDraining: isDraining || refusal !== null,
    free,
    warm: places?.ready() ?? warm,
    bases,
  }
}

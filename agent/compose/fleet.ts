import { createDomainClaims } from '../core/fleet/domain-claims.ts'
import { createLocalDirectory } from '../drivers/fleet/directory-local.ts'
import { createLocalDomains } from '../drivers/fleet/domains-local.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Fleet } from './fleet-kube.ts'

/** Opens what the settings name: the fleet of a cluster, or none. */
export async function openFleet(deps: DeploymentDeps, deployment: Deployment, version: string): Promise<Fleet> {
  if (deps.settings.fleet === null) {
    const domains = createLocalDomains()
    const claims = createDomainClaims({ ...deps, ...deployment, domains, address: deps.settings.edge })
    const alone = { api: null, join: async () => undefined, problems: () => [] }
    return { directory: createLocalDirectory(), domains, claims, ...alone }
  }
  // Loaded on demand: the Kubernetes client is large.
  const { openKubeFleet } = await import('./fleet-kube.ts')
  return openKubeFleet(deps, deployment, { ...deps.settings.fleet, version })
}

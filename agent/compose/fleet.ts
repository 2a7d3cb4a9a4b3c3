import { createLocalClaims } from '../core/fleet/domain-claims.ts'
import { createLocalDirectory } from '../drivers/fleet/directory-local.ts'
import { createLocalDomains } from '../drivers/fleet/domains-local.ts'
import { createLocalTokens } from '../drivers/fleet/tokens-local.ts'
import { changeKeys } from '../lib/disk/key-files.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'
import type { Fleet } from './fleet-kube.ts'
import { type HostAccess, wireTokens } from './tokens.ts'

/** Opens the fleet that the settings name, or none. */
export async function openFleet(deps: DeploymentDeps, data: DataDirectory, version: string): Promise<Fleet> {
  if (deps.settings.fleet === null) {
    const nothing = async (): Promise<void> => undefined
    const { tokens } = wireTokens(data, { ...deps, fleet: createLocalTokens() })
    const domains = createLocalDomains()
    const claims = createLocalClaims()
    return {
      ...{ directory: createLocalDirectory(), domains, claims, tokens, api: null },
      ...{ followKeys: nothing, join: nothing, problems: () => [] },
    }
  }
  // Loaded on demand, because the Kubernetes client is large.
  const { openKubeFleet } = await import('./fleet-kube.ts')
  return openKubeFleet(deps, data, { ...deps.settings.fleet, version })
}

/** Opens tokens and keys for a command of the host. */
export async function openHostAccess(deps: DeploymentDeps, data: DataDirectory): Promise<HostAccess> {
  const { settings } = deps
  if (settings.fleet === null) {
    return {
      tokens: wireTokens(data, { ...deps, fleet: createLocalTokens() }).tokens,
      shareKeys: async () => undefined,
      changeKeys: async (kind, change) => {
        changeKeys(settings.dataDir, kind, change)
        data.keys.reload()
      },
    }
  }
  const { openKubeAccess } = await import('./fleet-kube.ts')
  return openKubeAccess(deps, data, settings.fleet)
}

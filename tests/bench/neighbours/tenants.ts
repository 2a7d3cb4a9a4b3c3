import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { type LoudTenant, openLoudTenant } from './loud.ts'
import { openQuietTenant, type QuietTenant } from './quiet.ts'

/** A service of two tenants, one that works and one that attacks. */
export interface Tenants {
  service: TestService
  quiet: QuietTenant
  loud: LoudTenant
}

/** Starts a service with `settings` for `work`, and closes it afterwards. */
export async function withTenants(
  settings: Record<string, string>,
  work: (tenants: Tenants) => Promise<void>,
): Promise<void> {
  const service = await startService({ settings: { BOXYARD_POOL_GB: '8', ...settings } })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  try {
    const loud = await openLoudTenant(service.url, client)
    await work({ service, quiet: await openQuietTenant(service.url, client), loud })
  } finally {
    await service.close()
  }
}

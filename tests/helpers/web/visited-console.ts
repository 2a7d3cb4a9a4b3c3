import type { UsedService } from '../own-service.ts'
import type { SharedService } from '../shared-service.ts'
import { useVisits, type Visits } from './visits.ts'

/** Visits the web console of this checkout, which a service serves, before each test of the calling file; infra/test.ts builds it. */
export function useConsole<Service extends SharedService>(used: UsedService<Service>): UsedService<Service> & Visits {
  return { ...used, ...useVisits(() => ({ service: used.service(), client: used.client })) }
}

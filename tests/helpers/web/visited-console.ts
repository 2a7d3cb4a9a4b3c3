import type { UsedService } from '../own-service.ts'
import type { SharedService } from '../shared-service.ts'
import { useVisits, type Visits } from './visits.ts'

/** Visits this checkout's web console on a service before each test of the calling file. infra/test.ts builds the console. */
export function useConsole<Service extends SharedService>(used: UsedService<Service>): UsedService<Service> & Visits {
  return { ...used, ...useVisits(() => ({ service: used.service(), client: used.client })) }
}

import { CONSOLE_DIRECTORY, ensureConsole } from '../../../infra/web/build.ts'
import { type OwnService, useOwnService } from '../own-service.ts'
import { useVisits, type Visits } from './visits.ts'

/** Starts a service that serves the web console of this checkout, as `useOwnService` does, and visits it before each test. */
export function useConsole(): OwnService & Visits {
  const own = useOwnService(async () => {
    ensureConsole()
    return { settings: { BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY } }
  })
  return { ...own, ...useVisits(() => ({ service: own.service(), client: own.client })) }
}

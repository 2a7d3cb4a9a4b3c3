import { CONSOLE_DIRECTORY, ensureConsole } from '../../../infra/web/build.ts'
import { type OwnService, useOwnService } from '../own-service.ts'

/** Starts a service that serves the web console of this checkout, as `useOwnService` does. */
export function useConsole(): OwnService {
  return useOwnService(async () => {
    ensureConsole()
    return { settings: { BOXYARD_CONSOLE_DIR: CONSOLE_DIRECTORY } }
  })
}

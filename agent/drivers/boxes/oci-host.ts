import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { type CommandHost, openCommandHost } from '../host/command-host.ts'
import { compileSeccompFilter } from '../host/crun.ts'

/** Everything that the host needs to run boxes, opened. Closing it leaves boxes running. */
export interface OciHost extends CommandHost {
  /** Compiled seccomp filter of every box, base64. */
  seccompFilter: string
}

export interface OciHostOptions {
  instanceId: string
  runDir: string
  crunPath: string
  initPath: string
  bindsCpus?: boolean
  logger: Logger
}

/**
 * Prepares the host: directories below `runDir`, cgroups, the compiled filter, and three mounts in this process's mount
 * namespace, which must be its own. Throws `runtime_unavailable` where something is missing.
 */
export async function openOciHost(options: OciHostOptions): Promise<OciHost> {
  try {
    return await prepareHost(options)
  } catch (error) {
    throw new ServiceError('runtime_unavailable', 'This host cannot run boxes; the log says what it lacks.', {
      cause: error,
    })
  }
}

async function prepareHost(options: OciHostOptions): Promise<OciHost> {
  fs.accessSync(options.initPath, fs.constants.X_OK)
  const host = openCommandHost({ ...options, workName: 'work' })
  const { crunPath, watcher, cgroups } = host
  const seccompFilter = await compileSeccompFilter(crunPath, `${options.runDir}/filter`, watcher)
  return {
    ...host,
    seccompFilter,
    close: () => {
      host.close()
      cgroups.close()
    },
  }
}

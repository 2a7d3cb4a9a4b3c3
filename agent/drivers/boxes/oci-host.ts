import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { type CommandHost, openCommandHost } from '../host/command-host.ts'
import { compileSeccompFilter, removeFilterWork } from '../host/crun.ts'
import { checkCrunVersion } from '../host/crun-version.ts'
import { buildSeccompProfile } from '../host/seccomp-profile.ts'

/** Everything that the host needs to run boxes, opened. Closing it leaves boxes running. */
export interface OciHost extends CommandHost {
  /** Returns the compiled seccomp filter of boxes without or with nesting, in base64. Compiles each at its first use. */
  seccompFilter(nesting: boolean): Promise<string>
  /** Resolves once no compilation is running. */
  settled(): Promise<void>
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
 * Prepares the host. Creates directories below `runDir`, cgroups, and three mounts in this process's mount namespace, which must be its
 * own. Throws `runtime_unavailable` if something is missing.
 */
export async function openOciHost(options: OciHostOptions): Promise<OciHost> {
  try {
    return await prepareHost(options)
  } catch (error) {
    throw new ServiceError(
      'runtime_unavailable',
      "This host cannot run boxes. Find the missing part in the agent's log.",
      {
        cause: error,
      },
    )
  }
}

async function prepareHost(options: OciHostOptions): Promise<OciHost> {
  fs.accessSync(options.initPath, fs.constants.X_OK)
  const version = await checkCrunVersion(options.crunPath)
  options.logger.info('boxes run with crun', { version })
  fs.mkdirSync(options.runDir, { recursive: true, mode: 0o711 })
  const host = openCommandHost({ ...options, workName: 'work' })
  const { crunPath, watcher, cgroups } = host
  const workDirOf = (nesting: boolean): string => `${options.runDir}/filter${nesting ? '-nesting' : ''}`
  for (const nesting of [false, true]) await removeFilterWork({ crunPath, workDir: workDirOf(nesting) })
  let compiling: Promise<unknown> = Promise.resolve()
  const compile = (nesting: boolean): Promise<string> => {
    const settings = { crunPath, workDir: workDirOf(nesting), watcher }
    const filter = compileSeccompFilter(settings, buildSeccompProfile(process.arch, { nesting }))
    compiling = Promise.allSettled([compiling, filter])
    return filter
  }
  // Compiling starts crun three times, which a boot need not wait for.
  const [plain, ofNesting] = [shareSuccess(() => compile(false)), shareSuccess(() => compile(true))]
  return {
    ...host,
    seccompFilter: async (nesting) => (nesting ? ofNesting() : plain()),
    settled: async () => void (await compiling),
    close: () => {
      host.close()
      cgroups.close()
    },
  }
}

/** Returns a function that runs `work` once for all callers, and again after a failure. */
function shareSuccess<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined
      throw error
    })
    return running
  }
}

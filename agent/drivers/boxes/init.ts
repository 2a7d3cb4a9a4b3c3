import fs from 'node:fs'
import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { ProgramError } from '../../lib/program-error.ts'
import type { NetworkSlot } from '../../ports/boxes/network.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { CRUN_COMMAND } from '../host/crun.ts'
import { boundNamespaces } from '../host/nesting.ts'
import { type BoxParts, buildBoxConfig } from '../host/oci-spec.ts'
import type { OciHost } from './oci-host.ts'
import { writeFilesOf } from './own-files.ts'
import { prepareMountPoints, stageRoot, unstageRoot } from './root.ts'

/** The host's part of a box, which consists of network slot and init. */
export interface InitParts {
  slot: NetworkSlot
  /** Host path of the static reaper that becomes pid 1 of the box. */
  init: string
  logger: Logger
}

/** Starts the init of a box, whose cgroups exist, and returns its pid. Throws as `initFailure`, or `storage_full`. */
export async function runInit(host: OciHost, spec: BoxSpec, parts: InitParts): Promise<number> {
  const { cgroups, crun, watcher } = host
  const home = workHome(host, spec.id)
  fs.mkdirSync(home, { mode: 0o711 })
  stageRoot(spec.rootPath, `${home}/root`, parts.slot.userNamespace)
  if (spec.nesting) await boundNamespaces(parts.slot.userNamespace)
  const seccompFilter = await host.seccompFilter(spec.nesting)
  const config = buildBoxConfig(spec, { ...prepareParts(host, spec, parts), seccompFilter })
  const outcome = await crun.start(spec.id, config, cgroups.entrances(spec.id))
  watcher.collectStrays(CRUN_COMMAND)
  // The box has its own copy of the mount. Each mount that stayed would slow down the next start.
  unstageRoot(`${home}/root`)
  if (outcome.pid === null || outcome.message !== '')
    throw initFailure(outcome.wasKilled ? 'crun was killed' : `crun: ${outcome.message}`)
  return outcome.pid
}

/** Returns the working directory of a box, with its staged root and the files mounted into it. */
export function workHome({ workDir }: OciHost, boxId: string): string {
  return `${workDir}/boxes/${boxId}`
}

/**
 * Returns the error of a start that failed for `reason`, which it only logs. The error is `storage_full` if the reason names a full disk.
 */
export function initFailure(reason: string): ServiceError {
  const cause = new ProgramError(reason, reason)
  if (cause.code !== undefined) return asServiceError(cause)
  return new ServiceError(
    'internal',
    "The box failed to start. Find the cause in the agent's log under the request id.",
    {
      cause,
    },
  )
}

function prepareParts(
  host: OciHost,
  spec: BoxSpec,
  { slot, init, logger }: InitParts,
): Omit<BoxParts, 'seccompFilter'> {
  const home = workHome(host, spec.id)
  fs.writeFileSync(`${home}/machine-id`, `${spec.machineId}\n`, { mode: 0o644 })
  const resolvConf = fs.readFileSync(slot.resolvFile, 'utf8')
  writeFilesOf(spec, { resolvConf, address: slot.address }, logger)
  const files: Record<string, string> = { 'machine-id': `${home}/machine-id` }
  const mountable = prepareMountPoints(spec.rootPath, Object.keys(files))
  return {
    stagedRoot: `${home}/root`,
    userNamespace: slot.userNamespace,
    networkNamespace: slot.networkNamespace,
    init,
    files: Object.fromEntries(mountable.map((name) => [`/etc/${name}`, files[name] ?? ''])),
    cgroupVersion: host.cgroups.version,
  }
}

import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'

/** Returns the environment of every process of a box: `BOX_*`, and the variables of its owner. */
export function environmentOf({ id, name, project, environment }: BoxRecord): Record<string, string> {
  return { BOX_ID: id, BOX_NAME: name, BOX_PROJECT: project, ...environment }
}

/** Returns the whole environment of a command in the box, with the variables `own` of the request. */
export function commandEnvironment(box: BoxRecord, own: Record<string, string> = {}): Record<string, string> {
  return { PATH: DEFAULT_PATH, ...environmentOf(box), ...own }
}

/**
 * Refuses the reserved prefixes `BOX_` and `BOXYARD_`.
 * @throws ServiceError `environment_reserved`
 */
export function checkEnvironment(environment: Record<string, string>): void {
  const reserved = Object.keys(environment).find((name) => name.startsWith('BOX_') || name.startsWith('BOXYARD_'))
  if (reserved === undefined) return
  throw new ServiceError(
    'environment_reserved',
    `${reserved}: names that begin with BOX_ and BOXYARD_ are reserved. Choose other names.`,
  )
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

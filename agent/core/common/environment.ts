import { ServiceError } from '../../../shared/errors.ts'
import type { BoxRecord } from '../../ports/store/store.ts'

/** What every process of a box finds in its environment: what the box is, and what its owner gave it. */
export function environmentOf({ id, name, project, environment }: BoxRecord): Record<string, string> {
  return { BOX_ID: id, BOX_NAME: name, BOX_PROJECT: project, ...environment }
}

/** The whole environment of a command of the box that is given `own`. */
export function commandEnvironment(box: BoxRecord, own: Record<string, string> = {}): Record<string, string> {
  return { PATH: DEFAULT_PATH, ...environmentOf(box), ...own }
}

/**
 * Refuses names that are ours.
 * @throws ServiceError `environment_reserved`
 */
export function checkEnvironment(environment: Record<string, string>): void {
  const reserved = Object.keys(environment).find((name) => name.startsWith('BOX_') || name.startsWith('BOXYARD_'))
  if (reserved === undefined) return
  throw new ServiceError('environment_reserved', `${reserved}: names that begin with BOX_ and BOXYARD_ are reserved.`)
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

import { ServiceError } from '../../shared/errors.ts'
import type { BoxRecord } from '../ports/store.ts'

/** What every process of a box finds in its environment: what the box is, and what its owner gave it. */
export function environmentOf({ id, name, project, environment }: BoxRecord): Record<string, string> {
  return { BOX_ID: id, BOX_NAME: name, BOX_PROJECT: project, ...environment }
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

import { ServiceError } from '../../shared/errors.ts'

/**
 * Refuses names that are ours.
 * @throws ServiceError `environment_reserved`
 */
export function checkEnvironment(environment: Record<string, string>): void {
  const reserved = Object.keys(environment).find((name) => name.startsWith('BOX_') || name.startsWith('BOXYARD_'))
  if (reserved === undefined) return
  throw new ServiceError('environment_reserved', `${reserved}: names that begin with BOX_ and BOXYARD_ are reserved.`)
}

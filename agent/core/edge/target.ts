import { ServiceError } from '../../../shared/errors.ts'
import { type EdgeAddress, isOwnHost, projectOfHost } from '../common/urls.ts'
import type { EdgeRoutes, HostTarget } from './routes.ts'

export interface FindTargetDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
}

/** The target of a requested host. An `AccessTarget`. */
export type FoundTarget =
  | { isKnown: true; project: string; known: HostTarget }
  | { isKnown: false; project: string | null }

/**
 * Finds the target of a host. An unknown host below the deployment's domain belongs to the project in its name. Without a token of that
 * project, the client gets the same refusal as from a private box, so that names cannot be probed.
 * @throws ServiceError `box_not_found` for any other host without a box
 */
export async function findTarget({ hosts, address }: FindTargetDeps, host: string): Promise<FoundTarget> {
  const known = await hosts.lookup(host)
  if (known !== null) return { isKnown: true, project: known.box.project, known }
  if (isOwnHost(host, address)) return { isKnown: false, project: projectOfHost(host, address) }
  throw hostNotFound()
}

/** Returns the fault of a host without a box. */
export function hostNotFound(): ServiceError {
  return new ServiceError('box_not_found', 'No box has this address.')
}

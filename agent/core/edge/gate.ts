import type { EdgeRoute } from '../../ports/edge/edge.ts'
import type { Access, AccessRequest } from './access.ts'
import { type FindTargetDeps, findTarget, hostNotFound } from './target.ts'
import type { Waker } from './wake.ts'

export interface GateDeps extends FindTargetDeps {
  access: Pick<Access, 'admit'>
  waker: Waker
}

/** Decides which requests go to which box. */
export interface Gate {
  /**
   * Admits a request and returns the route of its host. Wakes the box only then. A host below the own domain that no box has is refused as
   * a private one is.
   * @throws ServiceError as `Access.admit`, `Waker.reach`, and `box_not_found`
   */
  routeFor(request: AccessRequest): Promise<EdgeRoute>
}

/** Creates a gate. */
export function createGate(deps: GateDeps): Gate {
  const { access, waker } = deps
  return {
    routeFor: async (request) => {
      const { host } = request
      const target = await findTarget(deps, host)
      if (!target.isKnown) {
        await access.admit(request, target)
        throw hostNotFound()
      }
      const { box, route: open, isHeld } = target.known
      const { auth } = box.urlSettings
      if (auth === 'token') await access.admit(request, target)
      const route = open === null || isHeld ? await waker.reach(host) : open
      // The box may have become private during the wait.
      if (route.auth === 'token' && auth === 'public') await access.admit(request, target)
      return route
    },
  }
}

import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { givenRequestId } from '../../../shared/http/messages.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import { type EdgeAddress, isOwnHost, projectOfHost } from '../../core/common/urls.ts'
import { type Access, isTokenFault } from '../../core/edge/access.ts'
import type { EdgeRoutes } from '../../core/edge/routes.ts'
import type { Waker } from '../../core/edge/wake.ts'
import type { EdgeDecision, EdgeGate, EdgeRequest, EdgeRoute } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { edgeAnswerOf } from './answers.ts'
import { accessRequestOf, isNavigation } from './request.ts'
import type { SignIn } from './sign-in.ts'

export interface EdgeGateDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  access: Access
  signIn: Pick<SignIn, 'redirect'>
  waker: Waker
  clock: Clock
  logger: Logger
}

/**
 * Decides which requests go to which box. A host without a box is answered as a private one is, so that names cannot be probed;
 * a stopped box is only woken for requests that are admitted.
 */
export function createEdgeGate(deps: EdgeGateDeps): Pick<EdgeGate, 'decide'> {
  return {
    decide: async (request) => {
      try {
        return { kind: 'forward', route: await routeFor(deps, request) }
      } catch (error) {
        return { kind: 'answer', ...refusalOf(deps, request, error) }
      }
    },
  }
}

async function routeFor(deps: EdgeGateDeps, request: EdgeRequest): Promise<EdgeRoute> {
  const { hosts, access, address, waker } = deps
  const { host } = request
  const asking = accessRequestOf(request)
  const target = await hosts.lookup(host)
  if (target === null) {
    if (isOwnHost(host, address)) await access.admit(asking, { project: projectOfHost(host, address), isKnown: false })
    throw new ServiceError('box_not_found', 'No box has this address.')
  }
  const { project, urlSettings } = target.box
  const admit = (): Promise<void> => access.admit(asking, { project, isKnown: true })
  if (urlSettings.auth === 'token') await admit()
  const route = target.route === null || target.isHeld ? await waker.reach(host) : target.route
  // The box may have become private during the wait.
  if (route.auth === 'token' && urlSettings.auth === 'public') await admit()
  return route
}

function refusalOf(
  { signIn, clock, logger }: EdgeGateDeps,
  request: EdgeRequest,
  error: unknown,
): Omit<Extract<EdgeDecision, { kind: 'answer' }>, 'kind'> {
  const { method, headers } = request
  const requestId = givenRequestId(headers) ?? newId('req', clock.now())
  const known = asServiceError(error)
  if (known.status >= 500)
    logger.error('a request for a URL failed', { request_id: requestId, host: request.host, error })
  const isPerson = headers.authorization === undefined && isNavigation(request)
  if (isTokenFault(known) && isPerson) return signIn.redirect(request)
  return edgeAnswerOf(known, { method, accept: headers.accept, requestId })
}

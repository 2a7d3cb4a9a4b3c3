import { asServiceError, ServiceError } from '../../../shared/errors.ts'
import { givenRequestId } from '../../../shared/http/messages.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import type { EdgeDecision, EdgeGate, EdgeRequest, EdgeRoute } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { type EdgeAddress, isOwnHost, projectOfHost } from '../common/urls.ts'
import type { Access } from './access.ts'
import { edgeAnswerOf } from './answers.ts'
import { isNavigation } from './request.ts'
import type { EdgeRoutes } from './routes.ts'
import type { SignIn } from './sign-in.ts'
import type { Waker } from './wake.ts'

export interface EdgeGateDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  access: Access
  signIn: Pick<SignIn, 'lead'>
  waker: Waker
  clock: Clock
  logger: Logger
}

/**
 * Decides who passes to which box. Of names that nobody has nothing more is told than of private ones; a box that rests is
 * woken for those alone who may ask it.
 */
export function createEdgeGate(deps: EdgeGateDeps): Pick<EdgeGate, 'decide'> {
  return {
    decide: async (request) => {
      try {
        return { kind: 'forward', route: await routeFor(deps, request) }
      } catch (error) {
        return { kind: 'answer', ...refuse(deps, request, error) }
      }
    },
  }
}

async function routeFor(deps: EdgeGateDeps, request: EdgeRequest): Promise<EdgeRoute> {
  const { hosts, access, address, waker } = deps
  const { host } = request
  const target = await hosts.lookup(host)
  if (target === null) {
    if (isOwnHost(host, address)) await access.admit(request, { project: projectOfHost(host, address), isKnown: false })
    throw new ServiceError('box_not_found', 'No box has this address.')
  }
  const { project, urlSettings } = target.box
  const admit = (): Promise<void> => access.admit(request, { project, isKnown: true })
  if (urlSettings.auth === 'token') await admit()
  const route = target.route === null || target.isHeld ? await waker.reach(host) : target.route
  // It may have become private while it was waited for.
  if (route.auth === 'token' && urlSettings.auth === 'public') await admit()
  return route
}

function refuse(
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
  if (known.status === 401 && isPerson) return signIn.lead(request)
  return edgeAnswerOf(known, { method, accept: headers.accept, requestId })
}

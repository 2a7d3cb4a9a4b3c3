import { asServiceError } from '../../../shared/errors.ts'
import { givenRequestId } from '../../../shared/http/messages.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import { createLineBudget, type LineBudget, logBounded } from '../../../shared/log-budget.ts'
import { isTokenFault } from '../../core/edge/access.ts'
import type { Gate } from '../../core/edge/gate.ts'
import type { Leads } from '../../core/edge/leads.ts'
import type { EdgeDecision, EdgeGate, EdgeRequest } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { edgeAnswerOf, withoutSession } from './answers.ts'
import { accessRequestOf, isNavigation, sessionOf } from './request.ts'
import type { SignInPages } from './sign-in.ts'

export interface EdgeGateDeps {
  gate: Gate
  leads: Pick<Leads, 'find'>
  pages: Pick<SignInPages, 'redirect'>
  clock: Clock
  logger: Logger
}

/** Creates the gate that the edge asks: a refusal becomes a redirect to the sign-in, a page or a problem. */
export function createEdgeGate(deps: EdgeGateDeps): Pick<EdgeGate, 'decide' | 'refuse'> {
  const lines = createLineBudget({ now: () => deps.clock.now() })
  return {
    refuse: async (error, { method, accept }) => {
      const requestId = newId('req', deps.clock.now())
      return { kind: 'answer', ...edgeAnswerOf(error, { method, accept, requestId }) }
    },
    decide: async (request) => {
      try {
        const to = request.isLed ? null : await deps.leads.find(request.host)
        if (to !== null) return { kind: 'lead', to }
        if (request.isOwn) return { kind: 'own' }
        return { kind: 'forward', route: await deps.gate.routeFor(accessRequestOf(request)) }
      } catch (error) {
        return { kind: 'answer', ...refusalOf({ ...deps, lines }, request, error) }
      }
    },
  }
}

function refusalOf(
  { pages, clock, logger, lines }: EdgeGateDeps & { lines: LineBudget },
  request: EdgeRequest,
  error: unknown,
): Omit<Extract<EdgeDecision, { kind: 'answer' }>, 'kind'> {
  const { method, headers } = request
  const requestId = givenRequestId(headers) ?? newId('req', clock.now())
  const known = asServiceError(error)
  if (known.status >= 500)
    logBounded('strangers', lines, (leftOut) =>
      logger.error('request for a URL failed', { request_id: requestId, host: request.host, error, ...leftOut }),
    )
  const isPerson = headers.authorization === undefined && isNavigation(request)
  const answer =
    isTokenFault(known) && isPerson
      ? pages.redirect(request)
      : edgeAnswerOf(known, { method, accept: headers.accept, requestId })
  return isTokenFault(known) && sessionOf(headers.cookie) !== undefined ? withoutSession(answer) : answer
}

import type { HttpHandler } from '../../../shared/http/messages.ts'
import type { Logger } from '../../../shared/log.ts'
import type { EdgeAddress } from '../../core/common/urls.ts'
import type { Certifier } from '../../core/edge/certifier.ts'
import type { Gate } from '../../core/edge/gate.ts'
import type { EdgeGrants } from '../../core/edge/grants.ts'
import type { Leads } from '../../core/edge/leads.ts'
import type { Loopback } from '../../core/edge/loopback.ts'
import type { SignIn } from '../../core/edge/sign-in.ts'
import type { EdgeGate } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { createEdgeGate } from './gate.ts'
import { createSignInPages } from './sign-in.ts'

export interface EdgeBackendDeps {
  gate: Gate
  leads: Pick<Leads, 'find'>
  signIn: SignIn
  certifies: Certifier
  loopback: Pick<Loopback, 'reach'>
  grants: Pick<EdgeGrants, 'endSession'>
  address: EdgeAddress
  clock: Clock
  logger: Logger
}

/** Answers what the edge cannot: requests without a route or grant, and its own pages. */
export interface EdgeBackend {
  gate: EdgeGate
  /** Serves the sign-in host, and `/.boxyard/` of all hosts. See `SignInPages`. */
  handle: HttpHandler
}

/** Creates the backend, which presents the decisions of the core. */
export function createEdgeBackend(deps: EdgeBackendDeps): EdgeBackend {
  const pages = createSignInPages(deps)
  const { decide, refuse } = createEdgeGate({ ...deps, pages })
  const reach: EdgeGate['reach'] = (target) => deps.loopback.reach(target)
  return { gate: { decide, refuse, reach, certifies: deps.certifies }, handle: pages.handle }
}

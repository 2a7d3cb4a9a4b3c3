import type { TokenVerifier } from '../../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Tokens } from '../../core/access/tokens.ts'
import type { BoxActivity } from '../../core/boxes/activity.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import type { EdgeAddress } from '../../core/common/urls.ts'
import { createAccess } from '../../core/edge/access.ts'
import { createCertifier } from '../../core/edge/certifier.ts'
import { createFailedAuthLimit } from '../../core/edge/failed-auth-limit.ts'
import { createGate } from '../../core/edge/gate.ts'
import type { EdgeGrants } from '../../core/edge/grants.ts'
import type { EdgeRoutes } from '../../core/edge/routes.ts'
import { createSignIn } from '../../core/edge/sign-in.ts'
import { createSignInCodes } from '../../core/edge/sign-in-codes.ts'
import { createWaker } from '../../core/edge/wake.ts'
import type { EdgeGate } from '../../ports/edge/edge.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { createEdgeGate } from './gate.ts'
import { createSignInPages } from './sign-in.ts'

export interface EdgeBackendDeps {
  grants: EdgeGrants
  hosts: Pick<EdgeRoutes, 'lookup' | 'hold'>
  address: EdgeAddress
  boxes: Pick<Boxes, 'resume'>
  tokens: Pick<Tokens, 'checkAlive' | 'onRevoke'>
  activity: Pick<BoxActivity, 'begin'>
  verifyToken: TokenVerifier
  prober: Prober
  clock: Clock
  logger: Logger
}

/** Answers what the edge cannot: requests without a route or grant, and its own pages. */
export interface EdgeBackend {
  gate: EdgeGate
  /** Serves the sign-in host, and `/.boxyard/` of all hosts; see `SignInPages`. */
  handle: HttpHandler
}

/** Wires the backend. From then on a token's revocation revokes its grants at the edge. */
export function createEdgeBackend(deps: EdgeBackendDeps): EdgeBackend {
  const { grants, hosts, address, clock, logger, tokens } = deps
  tokens.onRevoke(() => grants.revokeEnded())
  const failedAuth = createFailedAuthLimit({ clock })
  const checkAlive = (id: string): Promise<void> => tokens.checkAlive(id)
  const access = createAccess({ verifyToken: deps.verifyToken, checkAlive, grants, failedAuth })
  const codes = createSignInCodes({ clock })
  const signIn = createSignIn({ hosts, address, access, grants, codes, failedAuth })
  const gate = createGate({ hosts, address, access, waker: createWaker(deps) })
  const pages = createSignInPages({ signIn, grants, address, clock, logger })
  const { decide } = createEdgeGate({ gate, pages, clock, logger })
  const certifies = createCertifier({ hosts, address, clock, logger })
  return { gate: { decide, certifies }, handle: pages.handle }
}

import type { TokenVerifier } from '../../../shared/auth/tokens.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import type { Logger } from '../../../shared/log.ts'
import type { EdgeGate } from '../../ports/edge/edge.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Tokens } from '../access/tokens.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import type { Boxes } from '../boxes/boxes.ts'
import type { EdgeAddress } from '../common/urls.ts'
import { createAccess } from './access.ts'
import { createCertifier } from './certifier.ts'
import { createSignInCodes } from './codes.ts'
import { createFailedAuthLimit } from './failed-auth-limit.ts'
import { createEdgeGate } from './gate.ts'
import type { EdgeGrants } from './grants.ts'
import type { EdgeRoutes } from './routes.ts'
import { createSignIn } from './sign-in.ts'
import { createWaker } from './wake.ts'

export interface EdgeFrontDeps {
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

/** Who stands behind the edge: decides what it cannot, and answers at the addresses that are ours. */
export interface EdgeFront {
  gate: EdgeGate
  /** The sign-in host, and every host below `/.boxyard/`; see `SignIn`. */
  handle: HttpHandler
}

/** Ends with every token what it lets pass, from now on. */
export function createEdgeFront(deps: EdgeFrontDeps): EdgeFront {
  const { grants, hosts, address, clock, logger, tokens } = deps
  tokens.onRevoke(() => grants.endOver())
  const failedAuth = createFailedAuthLimit({ clock })
  const checkAlive = (id: string): Promise<void> => tokens.checkAlive(id)
  const access = createAccess({ verifyToken: deps.verifyToken, checkAlive, grants, failedAuth })
  const codes = createSignInCodes({ clock })
  const signIn = createSignIn({ hosts, address, access, grants, codes, failedAuth, clock, logger })
  const gate = createEdgeGate({ hosts, address, access, signIn, waker: createWaker(deps), clock, logger })
  const certifies = createCertifier({ hosts, address, clock, logger })
  return { gate: { ...gate, certifies }, handle: signIn.handle }
}

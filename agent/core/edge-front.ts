import type { Logger } from '../../shared/log.ts'
import type { HttpHandler } from '../../shared/messages.ts'
import type { TokenVerifier } from '../../shared/tokens.ts'
import type { Clock } from '../ports/clock.ts'
import type { EdgeGate } from '../ports/edge.ts'
import type { Prober } from '../ports/prober.ts'
import type { BoxActivity } from './box-activity.ts'
import type { Boxes } from './boxes.ts'
import { createAccess } from './edge-access.ts'
import { createCertifier } from './edge-certifier.ts'
import { createSignInCodes } from './edge-codes.ts'
import { createEdgeGate } from './edge-gate.ts'
import type { EdgeGrants } from './edge-grants.ts'
import { createGuesses } from './edge-guesses.ts'
import type { EdgeRoutes } from './edge-routes.ts'
import { createSignIn } from './edge-sign-in.ts'
import { createWaker } from './edge-wake.ts'
import type { Tokens } from './tokens.ts'
import type { EdgeAddress } from './urls.ts'

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
  const guesses = createGuesses({ clock })
  const checkAlive = (id: string): Promise<void> => tokens.checkAlive(id)
  const access = createAccess({ verifyToken: deps.verifyToken, checkAlive, grants, guesses })
  const codes = createSignInCodes({ clock })
  const signIn = createSignIn({ hosts, address, access, grants, codes, guesses, clock, logger })
  const gate = createEdgeGate({ hosts, address, access, signIn, waker: createWaker(deps), clock, logger })
  const certifies = createCertifier({ hosts, address, clock, logger })
  return { gate: { ...gate, certifies }, handle: signIn.handle }
}

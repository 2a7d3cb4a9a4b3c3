import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/host/clock.ts'
import { digestOf } from '../common/digest.ts'
import type { GrantToken } from './grants.ts'

/** A verified sign-in that may become a session at a host. */
export interface SignedIn extends GrantToken {
  host: string
  project: string
  /** SHA-256, hexadecimal, of the nonce cookie that the browser has at the host. */
  nonceDigest: string
  /** Path and query that the browser requested first. */
  target: string
}

/** One-time codes that hand a sign-in from the sign-in host to the box's host: valid for 60 s, in memory only. */
export interface SignInCodes {
  issue(signedIn: SignedIn): string
  /** Redeems a code. Null if it is unknown, redeemed or expired. */
  take(code: string): SignedIn | null
}

/** Creates an empty set of codes. Above `CODES_MAX` the oldest are dropped. */
export function createSignInCodes({ clock }: { clock: Clock }): SignInCodes {
  const open = new Map<string, { signedIn: SignedIn; endsAt: number }>()
  return {
    issue: (signedIn) => {
      const now = clock.now()
      for (const [key, { endsAt }] of open) {
        if (endsAt > now && open.size < CODES_MAX) break
        open.delete(key)
      }
      const code = randomBytes(CODE_BYTES).toString('base64url')
      open.set(digestOf(code), { signedIn, endsAt: now + CODE_MS })
      return code
    },
    take: (code) => {
      const key = digestOf(code)
      const found = open.get(key)
      open.delete(key)
      return found !== undefined && found.endsAt > clock.now() ? found.signedIn : null
    },
  }
}

const CODE_BYTES = 32
const CODE_MS = 60_000
const CODES_MAX = 10_000

import { randomBytes } from 'node:crypto'
import type { Clock } from '../../ports/host/clock.ts'
import { digestOf } from '../common/digest.ts'
import type { ShownToken } from './grants.ts'

/** Somebody who has shown a token, and is to have a session at a host. */
export interface SignedIn extends ShownToken {
  host: string
  project: string
  /** SHA-256, hexadecimal, of what the browser was given at the host when it was sent to sign in. */
  nonceDigest: string
  /** Path and query that were asked for. */
  target: string
}

/** Codes that carry a sign-in from one host to another: good once, for 60 s, in memory alone. */
export interface SignInCodes {
  issue(signedIn: SignedIn): string
  /** Uses a code up, whatever becomes of it; null for one that is unknown, used, or too old. */
  take(code: string): SignedIn | null
}

/** No code issued yet; of more than `CODES_MAX` the oldest give way. */
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

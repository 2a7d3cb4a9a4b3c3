import type { ApiError } from '@boxyard/sdk'

/** Why a session has ended, as reported by another tab or the service. */
export type SessionEnd =
  | { kind: 'expired' | 'revoked' | 'signed-out' | 'forgotten' | 'cleared' }
  | { kind: 'refused'; detail: string }

/** Storage key by which the tabs of a browser share why the session ends, before it does. */
const KEPT = 'boxyard.session-end'

/** Shares with the other tabs why the session ends. Null means that it does not end, or that another has begun. */
export function keepEnd(end: SessionEnd | null): void {
  if (end === null) localStorage.removeItem(KEPT)
  else localStorage.setItem(KEPT, JSON.stringify(end))
}

/** Returns why the session ends, as another tab has stored it, or null. */
export function endKept(): SessionEnd | null {
  try {
    const end = JSON.parse(localStorage.getItem(KEPT) ?? 'null') as SessionEnd | null
    return end !== null && (end.kind === 'refused' ? typeof end.detail === 'string' : end.kind in WORDS) ? end : null
  } catch {
    return null
  }
}

/**
 * Returns the meaning of a session's refusal. Its cookie expires by the clock of this browser at `endsAt`, and the service then sees half
 * of a session.
 */
export function endOf({ code, message }: Pick<ApiError, 'code' | 'message'>, endsAt: number, now: number): SessionEnd {
  if (code === 'token_expired' || (code === 'token_invalid' && now >= endsAt - CLOCK_MS)) return { kind: 'expired' }
  return code === 'token_revoked' ? { kind: 'revoked' } : { kind: 'refused', detail: message }
}

/** Returns why the session has ended, for people. */
export function endWords(end: SessionEnd): string {
  return end.kind === 'refused' ? `Boxyard does not accept this session: ${end.detail}` : WORDS[end.kind]
}

const WORDS: Readonly<Record<Exclude<SessionEnd['kind'], 'refused'>, string>> = {
  expired: 'Your session has expired.',
  revoked: 'Your session, or the token that you signed in with, was revoked.',
  'signed-out': 'You signed out in another tab.',
  forgotten: 'You made this browser forget the session in another tab.',
  cleared: 'This browser has deleted its data of Boxyard, and the session with it.',
}
/** Browsers delete cookies at whole seconds. */
const CLOCK_MS = 2_000

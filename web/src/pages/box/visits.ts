/** How long somebody who has signed in at the host of a box is known there (docs/edge.md#access). */
export const VISIT_SECONDS = 7 * 24 * 3_600

/** Where this browser keeps at which hosts of boxes its user was told what they ask for. */
export const VISITS_KEPT = 'boxyard.visits'

/** Returns true if what is kept says that the user was told of a host, in the time of one sign-in there. */
export function wasTold(kept: string | null, host: string, now: number): boolean {
  return (visitsOf(kept)[host] ?? 0) > now
}

/** Returns what is kept once the user was told of a host; what is over is left out. */
export function withVisit(kept: string | null, host: string, now: number): string {
  const lasting = Object.entries(visitsOf(kept)).filter(([, until]) => until > now)
  return JSON.stringify({ ...Object.fromEntries(lasting), [host]: now + 1000 * VISIT_SECONDS })
}

function visitsOf(kept: string | null): Record<string, number> {
  try {
    const parsed: unknown = JSON.parse(kept ?? '{}')
    if (typeof parsed !== 'object' || parsed === null) return {}
    return Object.fromEntries(Object.entries(parsed).filter(([, until]) => typeof until === 'number'))
  } catch {
    return {}
  }
}

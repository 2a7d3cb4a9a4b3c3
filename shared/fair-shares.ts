/** Something of which there is so much and no more, and which many take of. */
export interface FairShares {
  /**
   * Takes `amount` in the name of `owner`, who must not hold more then than is left free for the others: alone up to half of it
   * all, with n others who want the same a share of n + 2. Returns what gives it back, once; null where it is refused.
   */
  take(owner: string, amount?: number): (() => void) | null
  /** Counts one that is there whatever is free; returns as `take`. */
  add(owner: string): () => void
  /** What all of them hold. */
  held(): number
}

/** `total`, all of it free. */
export function createFairShares(total: number): FairShares {
  const shares = new Map<string, number>()
  let held = 0
  const change = (owner: string, amount: number): void => {
    const share = (shares.get(owner) ?? 0) + amount
    held += amount
    if (share > 0) shares.set(owner, share)
    else shares.delete(owner)
  }
  const add = (owner: string, amount: number): (() => void) => {
    let isHeld = true
    change(owner, amount)
    return () => {
      if (isHeld) change(owner, -amount)
      isHeld = false
    }
  }
  return {
    take: (owner, amount = 1) => {
      const share = (shares.get(owner) ?? 0) + amount
      return amount > 0 && share > total - held - amount ? null : add(owner, amount)
    },
    add: (owner) => add(owner, 1),
    held: () => held,
  }
}

/** The most that one owner gets of `total`, while nobody else holds any. */
export function largestShare(total: number): number {
  return Math.floor(total / 2)
}

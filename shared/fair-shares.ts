/** A bounded resource that owners share fairly. */
export interface FairShares {
  /**
   * Takes `amount` for `owner`, who must then hold no more than is left free: alone up to half of the total, among n others who
   * want the same a share of n + 2. Returns its release, which takes effect once; null if refused.
   */
  take(owner: string, amount?: number): (() => void) | null
  /** Counts one unit that exists already, even beyond what is free; returns as `take`. */
  add(owner: string): () => void
  /** Sum that all owners hold. */
  held(): number
}

/** Creates shares of `total`, all of it free. */
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

/** Returns the most that one owner gets of `total`, while no other holds any. */
export function largestShare(total: number): number {
  return Math.floor(total / 2)
}

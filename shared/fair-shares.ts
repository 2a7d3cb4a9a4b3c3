/** The accounts that a use counts against, such as a box, its project and a token. It may be one or several. */
export type Owners = string | readonly string[]

/** A bounded resource that owners share fairly. */
export interface FairShares {
  /**
   * Takes `amount` for the owners. Each of them can then hold at most as much as remains free. A single owner gets up to half of the total.
   * Beside n others that want as much, it gets 1 / (n + 2) of it. Returns its release, which takes effect once, or null if refused.
   */
  take(owners: Owners, amount?: number): (() => void) | null
  /** Counts one unit that exists already, even if it exceeds what is free. Returns its release. */
  add(owners: Owners): () => void
  /** Sum of all shares. */
  held(): number
}

/** Creates shares of `total`, all of it free. */
export function createFairShares(total: number): FairShares {
  const shares = new Map<string, number>()
  let held = 0
  const change = (owners: readonly string[], amount: number): void => {
    held += amount
    for (const owner of owners) {
      const share = (shares.get(owner) ?? 0) + amount
      if (share > 0) shares.set(owner, share)
      else shares.delete(owner)
    }
  }
  const add = (owners: readonly string[], amount: number): (() => void) => {
    let isHeld = true
    change(owners, amount)
    return () => {
      if (isHeld) change(owners, -amount)
      isHeld = false
    }
  }
  return {
    take: (given, amount = 1) => {
      const owners = listOf(given)
      const free = total - held - amount
      const fits = free >= 0 && owners.every((owner) => (shares.get(owner) ?? 0) + amount <= free)
      return amount > 0 && !fits ? null : add(owners, amount)
    },
    add: (owners) => add(listOf(owners), 1),
    held: () => held,
  }
}

/** Returns the most that one owner gets of `total` while no other holds a share. */
export function largestShare(total: number): number {
  return Math.floor(total / 2)
}

/** Lists each account of the owners once. */
export function listOf(owners: Owners): readonly string[] {
  return typeof owners === 'string' ? [owners] : [...new Set(owners)]
}

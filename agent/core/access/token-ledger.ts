import type { FleetRevocation, FleetToken, FleetTokens } from '../../ports/fleet/tokens.ts'

/** The tokens and revocations of the fleet as this cell knows them. It finds which ones the fleet lacks, and which have ended. */
export interface TokenLedger {
  tokens: LedgerPart<FleetToken> & {
    /** Returns true if the fleet has a record, and its sign-out if there is one. */
    has(record: Pick<FleetToken, 'id' | 'signedOutAt'>): boolean
  }
  revocations: LedgerPart<FleetRevocation>
  /** Returns true once both parts have received a whole list. */
  isComplete(): boolean
  /** Finds the revocation of a token, or of a token or session that created it. Null if the fleet has none. */
  revocationOf(token: TokenChain): FleetRevocation | null
  /**
   * Lists tokens that expired or were revoked before a time (ms since the epoch), and revocations that no token needs any more. The
   * time differs for records of this cell and of others.
   */
  ended(before: { own: number; others: number }): {
    tokens: { id: string; isRevoked: boolean }[]
    revocations: string[]
  }
}

/** The tokens and sessions that a token was created by. */
interface TokenChain {
  id: string
  createdBy: string | null
  root: string
  session?: string | null
}

/** One kind of record of the fleet. */
interface LedgerPart<T> {
  /** Replaces the content by a list, and calls `apply` for each page. Drops no earlier record if the pages fail. */
  replaceAll(pages: AsyncIterable<readonly T[]>, apply: (page: readonly T[]) => Promise<void>): Promise<void>
  put(item: T): void
  drop(id: string): void
}

/** Creates an empty ledger of a cell. */
export function createTokenLedger({ cell }: Pick<FleetTokens, 'cell'>): TokenLedger {
  const tokens = new Map<string, KnownToken>()
  const revocations = new Map<string, FleetRevocation>()
  const whole = new Set<'tokens' | 'revocations'>()
  const revocationOf: TokenLedger['revocationOf'] = (token) => {
    // Objects that someone wrote by hand could name each other in a ring, so a set has each once.
    const above = new Set([token.id, token.root])
    const addMinters = ({ createdBy, session = null }: Omit<TokenChain, 'id' | 'root'>): void => {
      if (createdBy !== null) above.add(createdBy)
      if (session !== null) above.add(session)
    }
    addMinters(token)
    for (const id of above) {
      const found = revocations.get(id)
      if (found !== undefined) return found
      const known = id === token.id ? undefined : tokens.get(id)
      if (known !== undefined) addMinters(known)
    }
    return null
  }
  return {
    tokens: {
      ...partOf(tokens, { entryOf: knownOf, onTaken: () => void whole.add('tokens') }),
      has: ({ id, signedOutAt }) => {
        const known = tokens.get(id)
        return known !== undefined && (known.isSignedOut || signedOutAt === undefined)
      },
    },
    revocations: partOf(revocations, {
      entryOf: (revocation: FleetRevocation) => [revocation.token, revocation] as const,
      onTaken: () => void whole.add('revocations'),
    }),
    isComplete: () => whole.size === 2,
    revocationOf,
    ended: (before) => {
      const isPast = (at: number | null, of: string | null): boolean =>
        at !== null && at < (of === cell ? before.own : before.others)
      // A token that another cell renewed lives longer than its revocation says.
      const isNeeded = (id: string): boolean => {
        const token = tokens.get(id)
        return token !== undefined && !isPast(token.expiresAt, token.cell)
      }
      const gone = [...tokens].flatMap(([id, token]) => {
        const revokedAt = revocationOf({ id, ...token })?.revokedAt ?? null
        const isRevoked = isPast(revokedAt, token.cell)
        return isRevoked || isPast(token.expiresAt, token.cell) ? [{ id, isRevoked }] : []
      })
      const past = [...revocations.values()].filter(
        ({ token, until, cell: of }) => isPast(until, of) && !isNeeded(token),
      )
      return { tokens: gone, revocations: past.map(({ token }) => token) }
    },
  }
}

/** The fields of a token that the ledger keeps. */
interface KnownToken {
  expiresAt: number | null
  createdBy: string | null
  root: string
  cell: string | null
  session: string | null
  isSignedOut: boolean
}

function knownOf(token: FleetToken): readonly [string, KnownToken] {
  const { id, expiresAt, createdBy, root, cell = null, session = null, signedOutAt } = token
  return [id, { expiresAt, createdBy, root, cell, session, isSignedOut: signedOutAt !== undefined }]
}

function partOf<T, V>(
  known: Map<string, V>,
  { entryOf, onTaken }: { entryOf(item: T): readonly [string, V]; onTaken(): void },
): LedgerPart<T> {
  return {
    replaceAll: async (pages, apply) => {
      const listed = new Set<string>()
      for await (const page of pages) {
        for (const item of page) {
          const [id, value] = entryOf(item)
          listed.add(id)
          known.set(id, value)
        }
        await apply(page)
      }
      for (const id of known.keys()) if (!listed.has(id)) known.delete(id)
      onTaken()
    },
    put: (item) => void known.set(...entryOf(item)),
    drop: (id) => void known.delete(id),
  }
}

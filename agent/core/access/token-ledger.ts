import type { FleetRevocation, FleetToken, FleetTokens } from '../../ports/fleet/tokens.ts'

/** What a cell knows the fleet to have of tokens and revocations: what tells it what is missing there, and what has ended. */
export interface TokenLedger {
  tokens: LedgerPart<FleetToken> & {
    /** Whether the fleet has a record, and its sign-out if there is one. */
    has(record: Pick<FleetToken, 'id' | 'signedOutAt'>): boolean
  }
  revocations: LedgerPart<FleetRevocation>
  /** Whether both parts have taken a whole list. */
  isComplete(): boolean
  /** Finds the revocation of a token, or of one that it was minted with or in, as far as the fleet has these; null: there is none. */
  revocationOf(token: TokenChain): FleetRevocation | null
  /**
   * Lists what ended before a time (ms since the epoch), which differs for what is of this cell and what is of others: tokens that
   * expired or were revoked, and revocations that nothing needs any more.
   */
  ended(before: { own: number; others: number }): {
    tokens: { id: string; isRevoked: boolean }[]
    revocations: string[]
  }
}

/** What tells with which tokens, and in which sessions, a token was minted. */
interface TokenChain {
  id: string
  createdBy: string | null
  root: string
  session?: string | null
}

/** One kind of what the fleet has. */
interface LedgerPart<T> {
  /** Takes a whole list, and has `apply` take each page as well. Keeps what it had if the pages fail. */
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
    // Objects that somebody made by hand could name each other in a ring: a set has each once.
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
      // One that was renewed meanwhile elsewhere lives longer than its revocation says.
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

/** What is kept of a token. */
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

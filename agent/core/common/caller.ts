import type { Permission } from '../../../shared/schemas/access.ts'

/** The verified token behind a request. */
export interface Caller {
  tokenId: string
  tokenName: string
  /** The token that its chain of creators begins with. Its own id for the first one. */
  root: string
  /** The accounts of the request, among which what is bounded is shared. */
  accounts: readonly string[]
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  /** Milliseconds since the epoch. Null without expiry. */
  expiresAt: number | null
  requestId: string
}

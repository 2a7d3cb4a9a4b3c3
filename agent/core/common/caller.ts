import type { Permission } from '../../../shared/schemas/access.ts'

/** The verified token behind a request. */
export interface Caller {
  tokenId: string
  tokenName: string
  /** The token at which its chain of minting begins; its own id for that one. */
  root: string
  /** The accounts of the request, among which what is bounded is shared. */
  accounts: readonly string[]
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  /** Milliseconds since the epoch; null: no expiry. */
  expiresAt: number | null
  requestId: string
}

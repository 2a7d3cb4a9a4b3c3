import type { Permission } from '../../../shared/schemas/access.ts'

/** The verified token behind a request. */
export interface Caller {
  tokenId: string
  tokenName: string
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  /** Milliseconds since the epoch; null: no expiry. */
  expiresAt: number | null
  requestId: string
}

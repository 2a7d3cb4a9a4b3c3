import type { Permission } from '../../../shared/schemas/system.ts'

/** Who asks: a verified token. */
export interface Caller {
  tokenId: string
  tokenName: string
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  /** Milliseconds since the epoch; null: no expiry. */
  expiresAt: number | null
  requestId: string
}

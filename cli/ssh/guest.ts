import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { BoxAccount } from '../files/accounts.ts'
import type { Drafts } from './drafts.ts'

/** The box of a connection, and the user that its client named. */
export interface SshGuest {
  boxyard: Boxyard
  box: BoxHandle
  drafts: Drafts
  user(): string
  account(): Promise<BoxAccount>
}

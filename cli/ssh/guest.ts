import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { BoxAccount } from '../files/accounts.ts'
import type { AgentOpener } from './agent-channels.ts'
import type { Drafts } from './drafts.ts'

/** The box of a connection, and the user that its client named. */
export interface SshGuest {
  boxyard: Boxyard
  box: BoxHandle
  drafts: Drafts
  /** Opens channels to the client's agent. Null if that is not possible. */
  openAgent: AgentOpener | null
  user(): string
  account(): Promise<BoxAccount>
}

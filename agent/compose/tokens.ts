import type { Logger } from '../../shared/log.ts'
import { createTokenRecords, type TokenRecords } from '../core/access/token-records.ts'
import { createTokens, type Tokens } from '../core/access/tokens.ts'
import type { KeyChange, KeyKind } from '../lib/disk/key-files.ts'
import type { FleetTokens } from '../ports/fleet/tokens.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { DataDirectory } from './deployment.ts'

/** Wires the tokens of a data directory, whose records the fleet shares. */
export function wireTokens(
  { store, keys }: Pick<DataDirectory, 'store' | 'keys'>,
  { fleet, clock, logger }: { fleet: FleetTokens; clock: Clock; logger: Logger },
): { tokens: Tokens; records: TokenRecords } {
  const records = createTokenRecords({ store, fleet, clock, logger })
  return { records, tokens: createTokens({ store, records, clock, signingKeys: () => keys.signing() }) }
}

/** The state that a command of the host changes, here and in its fleet if there is one. The agent may be running. */
export interface HostAccess {
  tokens: Tokens
  changeKeys(kind: KeyKind, change: KeyChange): Promise<void>
  /** Gives the fleet the backup keys of this data directory. Does nothing without a fleet. */
  shareKeys(): Promise<void>
}

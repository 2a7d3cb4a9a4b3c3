import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { Caller } from '../common/caller.ts'
import type { TokenRecords } from './token-records.ts'

interface RecordsOf {
  records: Pick<TokenRecords, 'find'>
}

/** The token that creates tokens for a caller: the caller's own, or the one behind a session of the console. */
export interface Minter {
  tokenId: string
  name: string
  expiresAt: number | null
  /** The session of the caller. Null if the caller is not a session. */
  session: string | null
}

/** Finds the token that creates tokens for a caller. */
export async function minterOf(deps: RecordsOf, caller: Caller): Promise<Minter> {
  const { tokenId, tokenName, expiresAt } = caller
  const parent = await stoodFor(deps, caller)
  if (parent === null) return { tokenId, name: tokenName, expiresAt, session: null }
  return { tokenId: parent.id, name: parent.name, expiresAt: parent.expiresAt, session: tokenId }
}

/** Finds the token behind a session. Null if the caller is not a session. */
export async function stoodFor(
  { records }: RecordsOf,
  { tokenId }: Pick<Caller, 'tokenId'>,
): Promise<TokenRecord | null> {
  const record = await records.find(tokenId)
  return record?.isSession === true && record.createdBy !== null ? records.find(record.createdBy) : null
}

/** Names a session after the token behind it. No other token can have such a name. */
export function sessionName(name: string): string {
  return `${name.slice(0, NAME_MAX - SESSION_NAME.length)}${SESSION_NAME}`
}

const SESSION_NAME = ' (console)'
const NAME_MAX = 63

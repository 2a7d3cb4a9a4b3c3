import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { Caller } from '../common/caller.ts'
import type { TokenRecords } from './token-records.ts'

interface RecordsOf {
  records: Pick<TokenRecords, 'find'>
}

/** Who mints for a caller: itself, or the token that a session of the console stands for. */
export interface Minter {
  tokenId: string
  name: string
  expiresAt: number | null
  /** The session in which it mints; null: it is the caller. */
  session: string | null
}

/** Finds who mints for a caller. */
export async function minterOf(deps: RecordsOf, caller: Caller): Promise<Minter> {
  const { tokenId, tokenName, expiresAt } = caller
  const parent = await stoodFor(deps, caller)
  if (parent === null) return { tokenId, name: tokenName, expiresAt, session: null }
  return { tokenId: parent.id, name: parent.name, expiresAt: parent.expiresAt, session: tokenId }
}

/** Finds the token that a session stands for; null: the caller is no session. */
export async function stoodFor(
  { records }: RecordsOf,
  { tokenId }: Pick<Caller, 'tokenId'>,
): Promise<TokenRecord | null> {
  const record = await records.find(tokenId)
  return record?.isSession === true && record.createdBy !== null ? records.find(record.createdBy) : null
}

/** Names a session after the token that it stands for, as no other token may be named. */
export function sessionName(name: string): string {
  return `${name.slice(0, NAME_MAX - SESSION_NAME.length)}${SESSION_NAME}`
}

const SESSION_NAME = ' (console)'
const NAME_MAX = 63

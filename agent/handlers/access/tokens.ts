import { timestamp } from '../../../shared/time.ts'
import type { Tokens } from '../../core/access/tokens.ts'
import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { Handlers } from '../common/call.ts'
import { viewMe } from './view.ts'

type TokenHandlers = Pick<Handlers, 'getMe' | 'createToken' | 'listTokens' | 'deleteToken'>

/** Handles tokens. */
export function createTokenHandlers({ tokens }: { tokens: Tokens }): TokenHandlers {
  return {
    getMe: async ({ caller }) => ({ body: viewMe(caller, await tokens.stoodFor(caller)) }),
    createToken: async ({ body, caller }) => {
      const { record, token } = await tokens.create(caller, body)
      const view = viewToken(record)
      return { body: { ...view, token }, replayBody: view, headers: { location: `/v1/tokens/${record.id}` } }
    },
    listTokens: async ({ query, caller }) => {
      const { records, next } = await tokens.list(caller, query)
      return { body: { tokens: records.map(viewToken), has_more: next !== null, next_continuation_token: next } }
    },
    deleteToken: async ({ params, caller }) => {
      await tokens.revoke(caller, params.token)
      return { body: null }
    },
  }
}

function viewToken(record: TokenRecord) {
  return {
    id: record.id,
    name: record.name,
    projects: record.projects,
    permissions: record.permissions,
    expires_at: record.expiresAt === null ? null : timestamp(record.expiresAt),
    created_at: timestamp(record.createdAt),
    created_by: record.createdBy,
    is_session: record.isSession === true,
    session: record.session ?? null,
    revoked_at: record.revokedAt === null ? null : timestamp(record.revokedAt),
  }
}

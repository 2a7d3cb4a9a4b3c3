import type { Caller } from '../../agent/core/common/caller.ts'

/** A caller for tests that need no specific one. Its token is for project `demo` and never expires. */
export const CALLER: Caller = {
  tokenId: 'tok_00000000000000000000000000',
  tokenName: 'test',
  root: 'tok_00000000000000000000000000',
  accounts: ['project demo', 'token tok_00000000000000000000000000'],
  projects: ['demo'],
  permissions: ['read', 'write', 'exec'],
  expiresAt: null,
  requestId: 'req_1',
}

/** Header of every answer of ours: browsers take a body for what its `Content-Type` says, and for nothing else. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const

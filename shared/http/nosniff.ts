/** Header of every answer. It makes browsers treat a body only as its `Content-Type`. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const

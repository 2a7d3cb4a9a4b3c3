/** Modes of the host's program of the same name. No command of the client can use these names. */
export const HOST_WORDS: ReadonlySet<string> = new Set(['admin', 'doctor', 'serve', 'support'])

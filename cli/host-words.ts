/** Modes of the host's program of the same name, which no verb of the client may be called. */
export const HOST_WORDS: ReadonlySet<string> = new Set(['admin', 'doctor', 'serve', 'support'])

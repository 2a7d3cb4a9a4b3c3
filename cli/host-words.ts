/** Modes of the host's program, with the script of a checkout that runs each. No command of the client can use these names. */
export const HOST_WORDS: ReadonlyMap<string, string> = new Map([
  ['admin', 'admin -- …'],
  ['doctor', 'doctor'],
  ['serve', 'up'],
  ['support', 'support'],
])

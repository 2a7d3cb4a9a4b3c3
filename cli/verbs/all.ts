import { BOX_VERBS } from './box.ts'
import { COPY_VERBS } from './copy.ts'
import { EXEC_VERBS } from './exec.ts'
import { LOGIN_VERBS } from './login.ts'
import { MORE_VERBS } from './more.ts'
import { plainVerb } from './plain.ts'
import { PORT_VERBS } from './ports.ts'
import { SSH_VERBS } from './ssh.ts'
import { PLAIN_VERBS } from './table.ts'
import type { Verb } from './verb.ts'

/** Returns all verbs, in the order of the help. */
export function allVerbs(): Verb[] {
  const special = [LOGIN_VERBS, BOX_VERBS, EXEC_VERBS, PORT_VERBS, SSH_VERBS, COPY_VERBS, MORE_VERBS].flat()
  return [...special, ...PLAIN_VERBS.map(plainVerb)]
}

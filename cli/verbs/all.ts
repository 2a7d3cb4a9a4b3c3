import { BASE_VERBS } from './bases.ts'
import { BOX_VERBS } from './box.ts'
import { CONSOLE_URL_VERBS } from './console-url.ts'
import { COPY_VERBS } from './copy.ts'
import { EDIT_VERBS } from './edit.ts'
import { EXEC_VERBS } from './exec.ts'
import { LOGIN_VERBS } from './login.ts'
import { LOGS_VERBS } from './logs.ts'
import { MORE_VERBS } from './more.ts'
import { plainVerb } from './plain.ts'
import { PORT_VERBS } from './ports.ts'
import { PROJECT_VERBS } from './projects.ts'
import { REMOVE_VERBS } from './remove.ts'
import { SERVICE_VERBS } from './services.ts'
import { SSH_VERBS } from './ssh.ts'
import { SYNC_VERBS } from './sync.ts'
import { PLAIN_VERBS } from './table.ts'
import { TICKET_VERBS } from './tickets.ts'
import { TOP_VERBS } from './top.ts'
import { UPDATE_VERBS } from './update.ts'
import { URL_VERBS } from './urls.ts'
import type { Verb } from './verb.ts'

/** Returns all commands, in the order of the help. */
export function allVerbs(): Verb[] {
  const special = [
    ...[LOGIN_VERBS, BOX_VERBS, UPDATE_VERBS, REMOVE_VERBS, EXEC_VERBS, LOGS_VERBS, TOP_VERBS],
    ...[PORT_VERBS, SSH_VERBS, COPY_VERBS, SYNC_VERBS, EDIT_VERBS, URL_VERBS],
    ...[SERVICE_VERBS, BASE_VERBS, TICKET_VERBS, CONSOLE_URL_VERBS, MORE_VERBS, PROJECT_VERBS],
  ]
  return [...special.flat(), ...PLAIN_VERBS.map(plainVerb)]
}

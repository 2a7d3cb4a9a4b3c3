import { plainVerb } from './plain.ts'
import { PLAIN_VERBS } from './table.ts'
import type { Verb } from './verb.ts'

/** Returns the commands with this first word, in the order of the help, and loads no others. */
export async function findVerbs(word: string): Promise<Verb[]> {
  const sources = SOURCES.filter(([words]) => words.split(' ').includes(word))
  const special = await Promise.all(sources.map(([, load]) => load()))
  const plain = PLAIN_VERBS.filter(({ words }) => firstWord(words) === word)
  return [...special.flat().filter(({ words }) => firstWord(words) === word), ...plain.map(plainVerb)]
}

function firstWord(words: string): string {
  return words.split(' ')[0] ?? ''
}

/** First words of the commands that are more than one operation each, and the functions that load them. */
const SOURCES: readonly (readonly [words: string, load: () => Promise<readonly Verb[]>])[] = [
  ['login logout use context', async () => (await import('./login.ts')).LOGIN_VERBS],
  ['create fork ls restart wait events', async () => (await import('./box.ts')).BOX_VERBS],
  ['rm', async () => (await import('./remove.ts')).REMOVE_VERBS],
  ['update volume', async () => (await import('./update.ts')).UPDATE_VERBS],
  ['exec console', async () => (await import('./exec.ts')).EXEC_VERBS],
  ['logs', async () => (await import('./logs.ts')).LOGS_VERBS],
  ['top metrics', async () => (await import('./top.ts')).TOP_VERBS],
  ['port-forward proxy', async () => (await import('./ports.ts')).PORT_VERBS],
  ['ssh ssh-config ssh-proxy', async () => (await import('./ssh.ts')).SSH_VERBS],
  ['cp cat', async () => (await import('./copy.ts')).COPY_VERBS],
  ['sync', async () => (await import('./sync.ts')).SYNC_VERBS],
  ['edit', async () => (await import('./edit.ts')).EDIT_VERBS],
  ['url open', async () => (await import('./urls.ts')).URL_VERBS],
  ['deploy promote rollback service', async () => (await import('./services.ts')).SERVICE_VERBS],
  ['base', async () => (await import('./bases.ts')).BASE_VERBS],
  ['console-url', async () => (await import('./console-url.ts')).CONSOLE_URL_VERBS],
  ['ticket', async () => (await import('./tickets.ts')).TICKET_VERBS],
  ['projects', async () => (await import('./projects.ts')).PROJECT_VERBS],
  ['api health openapi', async () => (await import('./more.ts')).MORE_VERBS],
]

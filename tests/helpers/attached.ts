import type { AttachedExec, DetachedExec, TerminalSession, Typing } from '../../agent/ports/boxes/runtime.ts'
import { type Listener, listen } from './network/listener.ts'

/** One who is attached, and reads all it is told. */
export interface Attached extends AttachedExec {
  seen: Listener
  errors: Listener
}

/** Attaches, and reads. */
export async function attachTo(held: DetachedExec | TerminalSession, typing: Typing = 'all'): Promise<Attached> {
  const attached = await held.attach(typing)
  return { ...attached, seen: listen(attached.stdout), errors: listen(attached.stderr) }
}

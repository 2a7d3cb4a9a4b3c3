import type { AttachedExec, DetachedExec, TerminalSession, Typing } from '../../agent/ports/boxes/runtime.ts'
import { type Listener, listen } from './network/listener.ts'

/** An attached viewer that reads all output. */
export interface Attached extends AttachedExec {
  seen: Listener
  errors: Listener
}

/** Attaches a viewer and starts reading. */
export async function attachTo(target: DetachedExec | TerminalSession, typing: Typing = 'all'): Promise<Attached> {
  const attached = await target.attach(typing)
  return { ...attached, seen: listen(attached.stdout), errors: listen(attached.stderr) }
}

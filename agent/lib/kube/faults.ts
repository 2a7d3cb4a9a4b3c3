import { createListeners } from '../../../shared/listeners.ts'
import type { KubeAction, KubeError, KubeFault } from './errors.ts'

/** Causes of failed calls that nothing has shown to be mended. */
export interface KubeFaults {
  note(action: KubeAction, error: KubeError): void
  noteSuccess(action: KubeAction): void
  /** The account has the verb, whatever else may keep the call from succeeding. */
  noteAllowed(action: KubeAction): void
  list(): KubeFault[]
  /** Calls `listener` when the server begins to answer no more; returns what takes it out. */
  onLoss(listener: () => void): () => void
  /** Calls `listener` when the server answers again, or takes the credentials again; returns what takes it out. */
  onRecovery(listener: () => void): () => void
}

/** No faults yet; `now` in milliseconds. What no call shows again for ten minutes is forgotten. */
export function createKubeFaults(now: () => number): KubeFaults {
  const held = new Map<string, { fault: KubeFault; at: number }>()
  const losses = createListeners()
  const recoveries = createListeners()
  // Whatever the server says to the account, it is there and takes the credentials.
  const noteAnswer = (): void => {
    const wasAway = held.delete(WHOLE_SERVER.unreachable)
    const wasRefused = held.delete(WHOLE_SERVER.credentials)
    if (wasAway || wasRefused) recoveries.notify()
  }
  return {
    note: (action, { reason, fault }) => {
      const isOfServer = reason === 'unreachable' || reason === 'credentials'
      if (!isOfServer) noteAnswer()
      const key = isOfServer ? WHOLE_SERVER[reason] : keyOf(action)
      const isLoss = reason === 'unreachable' && !held.has(key)
      if (fault) held.set(key, { fault, at: now() })
      // That there is no such pod, for example, is told to those alone who may ask.
      else held.delete(key)
      if (isLoss) losses.notify()
    },
    noteSuccess: (action) => {
      noteAnswer()
      held.delete(keyOf(action))
    },
    noteAllowed: (action) => {
      if (held.get(keyOf(action))?.fault.code === FORBIDDEN) held.delete(keyOf(action))
    },
    list: () => {
      for (const [key, { at }] of held) if (now() - at > KEEP_MS) held.delete(key)
      return [...held.values()].map(({ fault }) => fault)
    },
    onLoss: losses.add,
    onRecovery: recoveries.add,
  }
}

function keyOf({ verb, resource }: KubeAction): string {
  return `${verb} ${resource}`
}

const WHOLE_SERVER = { unreachable: 'unreachable', credentials: 'credentials' }
const FORBIDDEN = 'kubernetes_forbidden'
const KEEP_MS = 600_000

import { createListeners } from '../../../shared/listeners.ts'
import type { KubeAction, KubeError, KubeFault } from './errors.ts'

/** Tracks the faults of API calls until a success disproves them. */
export interface KubeFaults {
  note(action: KubeAction, error: KubeError): void
  noteSuccess(action: KubeAction): void
  /** Records that the account has the permission, even if the call can fail for other reasons. */
  noteAllowed(action: KubeAction): void
  list(): KubeFault[]
  /** Calls `listener` when the server stops answering. Returns a function that removes it. */
  onLoss(listener: () => void): () => void
  /** Calls `listener` when the server answers, or accepts the credentials, again. Returns a function that removes it. */
  onRecovery(listener: () => void): () => void
}

/** `now` in milliseconds. Forgets faults that did not recur for ten minutes. */
export function createKubeFaults(now: () => number): KubeFaults {
  const faults = new Map<string, { fault: KubeFault; at: number }>()
  const losses = createListeners()
  const recoveries = createListeners()
  // Any other answer shows that the server is reachable and accepts the credentials.
  const noteAnswer = (): void => {
    const wasAway = faults.delete(WHOLE_SERVER.unreachable)
    const wasRefused = faults.delete(WHOLE_SERVER.credentials)
    if (wasAway || wasRefused) recoveries.notify()
  }
  return {
    note: (action, { reason, fault }) => {
      const isOfServer = reason === 'unreachable' || reason === 'credentials'
      if (!isOfServer) noteAnswer()
      const key = isOfServer ? WHOLE_SERVER[reason] : keyOf(action)
      const isLoss = reason === 'unreachable' && !faults.has(key)
      if (fault) faults.set(key, { fault, at: now() })
      // An error without a fault, such as a missing pod, shows that the account has the permission.
      else faults.delete(key)
      if (isLoss) losses.notify()
    },
    noteSuccess: (action) => {
      noteAnswer()
      faults.delete(keyOf(action))
    },
    noteAllowed: (action) => {
      if (faults.get(keyOf(action))?.fault.code === FORBIDDEN) faults.delete(keyOf(action))
    },
    list: () => {
      for (const [key, { at }] of faults) if (now() - at > KEEP_MS) faults.delete(key)
      return [...faults.values()].map(({ fault }) => fault)
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

import type { KubeAction } from './errors.ts'

/** One call of the API. It may be sent several times: its effect is the same. */
export interface KubeCall extends KubeAction {
  /** From the root of the server. */
  path: string
  query?: Record<string, string>
  body?: unknown
  /** Of `body`; JSON if left out. */
  contentType?: string
  /** What of the answer is wanted; all of it, as JSON, if left out. */
  accept?: string
  /** For all attempts together; 10 s if left out. */
  deadlineMs?: number
}

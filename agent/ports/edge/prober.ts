/** Where a look goes: an address and port, and for `http` the path that is asked for. */
export interface ProbeTarget {
  address: string
  port: number
  kind: 'http' | 'tcp'
  path: string
  timeoutMs: number
}

/** Looks from the host whether something serves. */
export interface Prober {
  /** Null: it does; else why it is thought not to, in words for the client. Never rejects. */
  look(target: ProbeTarget): Promise<string | null>
}

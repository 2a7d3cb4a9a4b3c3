/** Target of a probe: address and port, and for `http` the path. */
export interface ProbeTarget {
  address: string
  port: number
  kind: 'http' | 'tcp'
  path: string
  timeoutMs: number
}

/** Probes ports of boxes from the host. */
export interface Prober {
  /** Returns null if it serves, else the reason, worded for the client. Never rejects. */
  probe(target: ProbeTarget): Promise<string | null>
}

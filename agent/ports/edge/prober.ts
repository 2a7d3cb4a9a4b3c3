/** Target of a probe: address and port, and for `http` the path. */
export interface ProbeTarget {
  address: string
  port: number
  kind: 'http' | 'tcp'
  path: string
  timeoutMs: number
}

/** Probes from the host whether a port serves. */
export interface Prober {
  /** Null: it serves; else the reason, worded for the client. Never rejects. */
  look(target: ProbeTarget): Promise<string | null>
}

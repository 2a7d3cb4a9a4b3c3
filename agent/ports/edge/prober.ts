import type { Duplex } from 'node:stream'

/** Target of a probe: address and port, and for `http` the path. */
export interface ProbeTarget {
  address: string
  port: number
  kind: 'http' | 'tcp'
  path: string
  timeoutMs: number
  /** Probe `http` by HTTP/2 without TLS. Absent: by HTTP/1.1. */
  protocol?: 'h2c' | undefined
  /** Connects to the port at the loopback of the box, where nothing listens at `address`. Absent: there is no such way. */
  atLoopback?: () => Promise<{ readonly stream: Duplex }>
}

/** Probes ports of boxes from the host. */
export interface Prober {
  /** Returns null if it serves, else the reason, worded for the client. Never rejects. */
  probe(target: ProbeTarget): Promise<string | null>
}

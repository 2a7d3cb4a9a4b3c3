import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../service.ts'
import { type AcmeServer, startAcmeServer } from './acme-server.ts'
import { createEdgeLab, type EdgeLab } from './lab.ts'
import { pidsWith } from './processes.ts'
import type { TlsPlace } from './tls-client.ts'

/** An edge behind Caddy, its CA, and a data directory that only root can enter. */
export interface AcmeLab {
  lab: EdgeLab
  ca: AcmeServer
  httpPort: number
  dataDir: string
  /** Address for clients that trust the CA. */
  place: TlsPlace
  /** Returns Caddy's pids. */
  caddyPids(): number[]
  /** Returns HAProxy's pids. */
  haproxyPids(): number[]
  close(): Promise<void>
}

/** Creates a lab with an edge that is not open yet. Close it even after a failure. */
export async function createAcmeLab({ certificates = null }: { certificates?: string | null } = {}): Promise<AcmeLab> {
  const dataDir = mkdtempSync(join(tmpdir(), 'boxyard-acme-data-'))
  const [port, httpPort] = [await freePort(), await freePort()]
  const ca = await startAcmeServer({ tlsPort: port, httpPort })
  const lab = createEdgeLab(
    { port, certificates },
    {
      ...{ storage: join(dataDir, 'acme'), email: 'admin@example.org', directory: ca.directory, root: ca.root },
      ...{ httpPort, seenPort: () => port },
    },
  )
  const pidsOf = (program: string): number[] =>
    pidsWith((args) => args[0] === program && args.some((arg) => arg.startsWith(`${lab.runDir}/`)))
  return {
    ...{ lab, ca, httpPort, dataDir },
    place: { port, ca: ca.issuer },
    caddyPids: () => pidsOf('caddy'),
    haproxyPids: () => pidsOf('haproxy'),
    close: async () => {
      try {
        await lab.close()
      } finally {
        await ca.close()
        rmSync(dataDir, { recursive: true, force: true })
      }
    },
  }
}

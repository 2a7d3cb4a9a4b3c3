import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { killGroup, spawnChild } from '../../../agent/lib/run.ts'
import { findAcmeServer } from '../../../infra/acme-server/program.ts'
import { dieWithParent } from '../../../infra/commands.ts'
import { startNameServer } from '../network/name-server.ts'
import { freePort } from '../service.ts'
import { makeCertificate } from './certificates.ts'

/** A CA on loopback that speaks ACME and validates control of each name. */
export interface AcmeServer {
  /** URL of the ACME directory. */
  directory: string
  /** Path of the certificate that authenticates the directory. */
  root: string
  /** PEM of the root of the issued certificates. */
  issuer: string
  /** The name server that the CA queries, as `127.0.0.1:PORT`, and its TXT records. */
  resolver: string
  texts: Map<string, string[]>
  /** Returns the number of orders so far. */
  orders(): number
  /** Returns the CA's output so far. */
  output(): string
  close(): Promise<void>
}

/** Starts a CA that validates every name on this machine, at these ports. */
export async function startAcmeServer({
  tlsPort,
  httpPort,
}: {
  tlsPort: number
  httpPort: number
}): Promise<AcmeServer> {
  const program = process.env['TEST_ACME_SERVER'] ?? (await findAcmeServer(() => undefined))
  if (typeof program !== 'string') throw new Error(`There is no ACME server: ${program.obstacle}.`)
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-acme-server-'))
  const { cert } = makeCertificate(directory, 'directory')
  const names = await startNameServer()
  const [port, managementPort] = [await freePort(), await freePort()]
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: join(directory, 'directory.crt'),
    privateKey: join(directory, 'directory.key'),
    ...{ tlsPort, httpPort },
  }
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ pebble: config }))
  // By default, Pebble delays validation and rejects some valid nonces to test clients.
  const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PATH: process.env['PATH'] ?? '' }
  const call = [program, '-config', join(directory, 'config.json'), '-dnsserver', `127.0.0.1:${names.port}`]
  const [command = '', ...args] = dieWithParent(call)
  const child = spawnChild(command, args, { env, cwd: directory })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (output += text.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  const server: AcmeServer = {
    directory: `https://127.0.0.1:${port}/dir`,
    root: join(directory, 'directory.crt'),
    issuer: '',
    resolver: `127.0.0.1:${names.port}`,
    texts: names.texts,
    orders: () => output.split('POST /order-plz').length - 1,
    output: () => output,
    close: async () => {
      killGroup(child, 'SIGKILL')
      await ended
      await names.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  for (let tries = 0; server.issuer === ''; tries++) {
    server.issuer = await read(`https://127.0.0.1:${managementPort}/roots/0`, cert).catch(() => '')
    if (server.issuer !== '') break
    if (tries > 200 || child.exitCode !== null) {
      await server.close()
      throw new Error(`The ACME server did not start:\n${output}`)
    }
    await pause(50)
  }
  return server
}

function read(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ca, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (piece: Buffer) => (text += piece.toString()))
      answer.once('end', () => resolve(text))
    })
    outgoing.once('error', reject)
    outgoing.end()
  })
}

import type { Client } from '../helpers/front/client.ts'
import type { TestService } from '../helpers/service.ts'
import type { DockerPeer } from './docker-peer.ts'

/** Context of a section, with the benchmarked service and docker. */
export interface BenchContext {
  service: TestService
  client: Client
  docker: DockerPeer
}

/** Settings of the benchmarked service. */
export const BENCH_SETTINGS = {
  BOXYARD_RATE_LIMIT: '1000000',
  BOXYARD_RATE_BURST: '1000000',
  BOXYARD_SPARE_SLOTS: '8',
}

const BOXES = '/v1/projects/bench/boxes'

/** Creates a box. Throws unless it comes up running. */
export async function createBox(client: Client, name: string): Promise<void> {
  const { status, body, text } = await client.post(BOXES, { name })
  if (status !== 201 || body.status !== 'running') throw new Error(`create ${name}: ${status} ${text}`)
}

/** Runs `echo` in a box and checks its output. */
export async function execEcho(client: Client, name: string): Promise<void> {
  const { body, text } = await client.post(`${BOXES}/${name}/exec`, { command: ['echo', 'hi'] })
  if (body.stdout !== 'hi\n') throw new Error(`exec in ${name}: ${text}`)
}

/** Forks a box. Throws unless the fork comes up running. */
export async function forkBox(client: Client, name: string, source: string): Promise<void> {
  const { status, body, text } = await client.post(BOXES, { name, fork: source })
  if (status !== 201 || body.status !== 'running') throw new Error(`fork ${name}: ${status} ${text}`)
}

/** Runs a command line in a box and returns its stdout. Throws if it fails. */
export async function shellIn(client: Client, name: string, line: string): Promise<string> {
  const { body, text } = await client.post(`${BOXES}/${name}/exec`, { shell: line })
  if (body.exit_code !== 0) throw new Error(`${line} in ${name}: ${text}`)
  return body.stdout
}

/** Stops or resumes a box. Throws on failure. */
export async function changePower(client: Client, name: string, action: 'stop' | 'resume'): Promise<void> {
  const { status, body, text } = await client.post(`${BOXES}/${name}/${action}`)
  const wanted = action === 'stop' ? 'stopped' : 'running'
  if (status !== 200 || body.status !== wanted) throw new Error(`${action} ${name}: ${status} ${text}`)
}

/** Deletes a box. Throws on failure. */
export async function deleteBox(client: Client, name: string): Promise<void> {
  const { status, text } = await client.delete(`${BOXES}/${name}`)
  if (status !== 204) throw new Error(`delete ${name}: ${status} ${text}`)
}

/** Returns the URL path of a box of the benchmark. */
export function boxPath(name: string): string {
  return `${BOXES}/${name}`
}

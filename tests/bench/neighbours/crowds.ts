import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { dieWithParent, ROOT } from '../../../infra/commands.ts'
import { frame, H2_FRAME, PREFACE } from '../../helpers/edge/http2-frames.ts'
import type { TestService } from '../../helpers/service.ts'

/** Connections that unauthenticated clients open and hold. */
interface Crowd {
  /** Port, number of connections, and source address of each member. */
  members: { port: number; count: number; from: string }[]
  /** First bytes of each connection. */
  text: string | Buffer
  /** Bytes that each connection then sends in a loop, as fast as it can. */
  repeated?: Buffer
}

/**
 * Opens a crowd in separate processes of the lowest priority, since real clients would run elsewhere. Resolves once each connection was
 * tried. Returns a function that ends the crowd.
 */
export async function openCrowds({ members, text, repeated = Buffer.alloc(0) }: Crowd): Promise<() => Promise<void>> {
  const children = members.map(({ port, count, from }) => {
    const program = join(ROOT, 'tests/fixtures/crowd.ts')
    const words = [port, count, from, repeated.length].map(String)
    const line = ['nice', '-n', '19', process.execPath, program, ...words]
    const [command = '', ...args] = dieWithParent(line)
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.write(text)
    child.stdin.end(repeated)
    return child
  })
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')))
  return async () => {
    await Promise.all(
      children.map(async (child) => {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }),
    )
  }
}

/** Attacks of unauthenticated clients on the listeners of a service, at a size that once made it unavailable. */
export function crowdsOf(service: TestService, edgeUrl: string): Record<string, Crowd> {
  const [front, agent, data, edge] = [service.url, service.agentUrl, service.dataUrl, edgeUrl].map(portOf)
  const at = (port = 0, count = 0, ...from: string[]): Crowd['members'] =>
    from.map((address) => ({ port, count: count / from.length, from: address }))
  const body = 'x'.repeat(MIB - 10)
  const write = '/v1/projects/loud/boxes/box/files/write?path=/a&ticket=none'
  const head = `PUT ${write} HTTP/1.1\r\nhost: a\r\ncontent-length: ${MIB}\r\n`
  const keys = `{${Array.from({ length: 90_000 }, (_, index) => `"k${index}":0`).join(',')}}`.padEnd(MIB)
  return {
    '20,200 silent, data': { members: at(data, 20_200, '127.0.0.2', '127.0.0.3'), text: '' },
    '4,000 silent, agent': { members: at(agent, 4_000, '127.0.0.2', '127.0.0.3'), text: '' },
    '4,000 silent, front': { members: at(front, 4_000, '127.0.0.2', '127.0.0.3'), text: '' },
    '9,000 half requests, edge': { members: at(edge, 9_000, '127.0.0.2'), text: 'GET / HTTP/1.1\r\nhost: a\r\n' },
    '1,000 held bodies, front': {
      members: at(front, 1_000, '127.0.0.2', '127.0.0.3'),
      text: `${head}content-type: application/octet-stream\r\n\r\n${body}`,
    },
    '20 × 1 MiB of keys, front': {
      members: at(front, 20, '127.0.0.2'),
      text: `${head}connection: close\r\ncontent-type: application/json\r\n\r\n${keys}`,
    },
  }
}

/** Endless HTTP/2 frames without a request, which the edge answers, from one address. */
export function framesAt(edgeUrl: string): Record<string, Crowd> {
  const members = [{ port: portOf(edgeUrl), count: 4, from: '127.0.0.2' }]
  const settings = frame(H2_FRAME.settings, 0, 0)
  const flood = (each: Buffer): Crowd => ({
    ...{ members, text: PREFACE },
    repeated: Buffer.concat(Array.from({ length: 4_000 }, () => each)),
  })
  return {
    'SETTINGS ×4, edge': flood(settings),
    'PING ×4, edge': flood(frame(H2_FRAME.ping, 0, 0, Buffer.alloc(8))),
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

const MIB = 1024 ** 2

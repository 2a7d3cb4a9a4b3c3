import { type Duplex, duplexPair, PassThrough } from 'node:stream'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { ServerChannel } from 'ssh2'
import { AgentRelay } from '../../../cli/ssh/agent-relay.ts'
import type { TerminalStream } from '../../../sdk/typescript/src/terminal-stream.ts'
import { eventually } from '../../helpers/eventually.ts'

const NOTHING = new Uint8Array()
let answers: [connection: number, text: string][] = []
/** The agent's ends of the open channels. */
let agents: Duplex[] = []
let relay: AgentRelay

/** Opens a channel to an agent, with the members that ssh2 adds to a stream. */
async function open(): Promise<ServerChannel> {
  const [agent, ours] = duplexPair()
  agents.push(agent.on('error', () => undefined))
  const close = (): void => {
    agent.destroy()
    ours.destroy()
  }
  return Object.assign(ours, {
    stderr: new PassThrough(),
    eof: () => void ours.end(),
    close,
  }) as unknown as ServerChannel
}

function endsOf(connection: number): number {
  return answers.filter(([id, text]) => id === connection && text === '').length
}

beforeEach(() => {
  answers = []
  agents = []
  relay = new AgentRelay(open, new AbortController().signal)
  const answerAgent = async (id: number, bytes: Uint8Array): Promise<void> =>
    void answers.push([id, Buffer.from(bytes).toString()])
  relay.attach({ answerAgent } as TerminalStream)
})

describe('connections of a box to the agent of a client', () => {
  test('have a channel each, which passes bytes both ways and ends with the agent', async () => {
    relay.take(1, Buffer.from('list'))
    relay.take(2, Buffer.from('sign'))
    await eventually(() => agents.length === 2)
    const [one, two] = agents
    await eventually(() => one?.read()?.toString() === 'list')
    expect(two?.read()?.toString()).toBe('sign')
    one?.end('keys')
    await eventually(() => endsOf(1) === 1)
    expect(answers).toEqual([
      [1, 'keys'],
      [1, ''],
    ])
  })

  test('tell the agent when a program ends its direction', async () => {
    relay.take(1, Buffer.from('list'))
    relay.take(1, NOTHING)
    await eventually(() => agents.length === 1)
    agents[0]?.resume()
    await eventually(() => agents[0]?.readableEnded === true)
  })

  test('are closed beyond the eighth, and where a program has said nothing', async () => {
    for (let id = 1; id <= 9; id++) relay.take(id, Buffer.from('x'))
    relay.take(10, NOTHING)
    await eventually(() => endsOf(9) === 1 && endsOf(10) === 1)
    expect([agents.length, endsOf(8)]).toEqual([8, 0])
    relay.close()
    await eventually(() => endsOf(8) === 1)
  })

  test('are closed when the agent leaves 512 KiB unread', async () => {
    for (let n = 0; n < 12; n++) relay.take(1, Buffer.alloc(65_536))
    await eventually(() => endsOf(1) === 1)
  })

  test('are closed when the client has no agent', async () => {
    const refused = new AgentRelay(
      () => Promise.reject(new Error('Channel open failure')),
      new AbortController().signal,
    )
    refused.attach({ answerAgent: async (id: number) => void answers.push([id, '']) } as unknown as TerminalStream)
    refused.take(1, Buffer.from('x'))
    await eventually(() => endsOf(1) === 1)
  })
})

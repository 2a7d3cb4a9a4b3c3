import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type IncomingMessage, Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { boundConnections, type ClosedReason } from '../../../shared/http/connections.ts'
import { noteDueAnswer } from '../../../shared/http/due-answers.ts'
import { createSourceAddresses } from '../../../shared/http/source-address.ts'
import { check } from '../../helpers/fairness/check.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const ADDRESSES = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']

const anySteps = fc.array(
  fc.record({
    act: fc.constantFrom('connect', 'connect', 'connect', 'ask', 'ask', 'answer', 'upgrade', 'close'),
    address: fc.constantFrom(...ADDRESSES),
    pick: fc.nat({ max: 100 }),
  }),
  { maxLength: 80 },
)

interface Connection {
  socket: EventEmitter
  address: string
  isOpen: boolean
  isUpgraded: boolean
  /** Ends the due answers. */
  due: EventEmitter[]
}

const isIdle = ({ isUpgraded, due }: Connection): boolean => !isUpgraded && due.length === 0

/** A server whose sockets come without a network. */
function openServer(max: number) {
  const server: EventEmitter = Object.setPrototypeOf(new EventEmitter(), Server.prototype)
  const closed: ClosedReason[] = []
  const bounds = boundConnections(server as Server, {
    ...{ listener: 'test', max, sources: createSourceAddresses([]), logger: silentLogger },
    onClosed: (reason) => closed.push(reason),
  })
  const all: Connection[] = []
  const connect = (address: string): Connection => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress: address,
      remotePort: all.length,
      setTimeout: () => undefined,
      resetAndDestroy: () => {
        connection.isOpen = false
        process.nextTick(() => socket.emit('close'))
      },
    })
    const connection: Connection = { socket, address, isOpen: true, isUpgraded: false, due: [] }
    all.push(connection)
    server.emit('connection', socket)
    return connection
  }
  const ask = ({ socket, due }: Connection): void => {
    const outgoing = Object.assign(new EventEmitter(), { destroy: () => undefined })
    const incoming = { socket, destroy: () => undefined } as unknown as IncomingMessage
    noteDueAnswer(incoming, outgoing as unknown as ServerResponse)
    due.push(outgoing)
  }
  const upgrade = (connection: Connection): void => {
    connection.isUpgraded = true
    server.emit('upgrade', { socket: connection.socket as Socket })
  }
  return { bounds, closed, all, connect, ask, upgrade }
}

/** Finds the connection that must close for a new one of `address`. Returns null if none must, and undefined if none can. */
function giver(open: readonly Connection[], address: string, max: number): Connection | null | undefined {
  const of = (other: string): Connection[] => open.filter((each) => each.address === other)
  const own = of(address)
  if (own.length + 1 <= max - open.length - 1) return null
  const larger = ADDRESSES.map(of).filter((each) => each.length > own.length && each.some(isIdle))
  const most = Math.max(...larger.map((each) => each.length))
  const candidates = larger.filter((each) => each.length === most).map((each) => each.find(isIdle))
  return candidates.length === 0 ? own.find(isIdle) : candidates[0]
}

test('where no share is left the oldest without a request gives way, of the address that has most; one with a request never does', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 12 }), anySteps, async (max, steps) => {
    const { bounds, closed, all, connect, ask, upgrade } = openServer(max)
    for (const { act, address, pick } of steps) {
      const open = all.filter(({ isOpen }) => isOpen)
      const chosen = open[pick % Math.max(1, open.length)]
      if (act === 'connect') {
        const expected = giver(open, address, max)
        const before = closed.length
        const made = connect(address)
        assert.ok(bounds.open() <= max, 'too many are open')
        await new Promise<void>((resolve) => process.nextTick(resolve))
        assert.equal(made.isOpen, expected !== undefined, `one of ${address} is ${made.isOpen ? 'taken' : 'refused'}`)
        const gone = open.filter(({ isOpen }) => !isOpen)
        assert.ok(gone.every(isIdle), 'one with a request gave way')
        assert.equal(gone.length, expected ? 1 : 0)
        if (expected) assert.equal(countOf(open, gone[0]), countOf(open, expected), 'of the address that has most')
        assert.deepEqual(closed.slice(before), expected === null ? [] : [expected ? 'displaced' : 'refused'])
      } else if (chosen === undefined) continue
      else if (act === 'ask') ask(chosen)
      else if (act === 'answer') chosen.due.shift()?.emit('close')
      else if (act === 'upgrade') upgrade(chosen)
      else {
        chosen.isOpen = false
        chosen.socket.emit('close')
      }
      assert.equal(bounds.open(), all.filter(({ isOpen }) => isOpen).length)
      assert.ok(bounds.open() <= max)
    }
  })
  await check(property, 150)
})

/** Counts the connections from the same address. */
function countOf(open: readonly Connection[], one: Connection | undefined): number {
  return open.filter(({ address }) => address === one?.address).length
}

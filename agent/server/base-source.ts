import { bodyMac } from '../../shared/auth/body-mac.ts'
import { AGENT_RUN_HEADER, type ChannelKey, createSigner, SIGNATURE_HEADER } from '../../shared/auth/channel.ts'
import { openSealed } from '../../shared/auth/sealed-body.ts'
import type { ServiceError } from '../../shared/errors.ts'
import { headerOf } from '../../shared/http/messages.ts'
import { piecesByTurns } from '../../shared/pulled-flow.ts'
import type { FleetBases } from '../ports/fleet/bases.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import { BASE_PATH, baseReceiverOf, FLEET_BASES } from './base-sender.ts'
import { type CellLinks, cellAway, type PassedAnswer } from './cells/cell-links.ts'
import { discard } from './passing.ts'

export interface BaseSourceDeps {
  findCell: Directory['findCell']
  links: Pick<CellLinks, 'send'>
  /** Keys that only agents have (`createPeerKeys`). The first signs. */
  keys(): readonly ChannelKey[]
  /** Milliseconds since the epoch. */
  now(): number
}

/** Creates a function that requests bases from the cells that made them (`createBaseSender`). */
export function createBaseSource(deps: BaseSourceDeps): FleetBases['open'] {
  /** The run of each cell's agent, learned from its first refusal. */
  const runs = new Map<string, string>()
  return async ({ cell, uid }, signal) => {
    const found = deps.findCell(cell)
    if (found === null) throw away(cell)
    const ask = (): Promise<Asked> => askFor(uid, { ...deps, cell, url: found.channelUrl, run: runs.get(cell), signal })
    const first = await ask()
    const told = headerOf(first.answer.headers, AGENT_RUN_HEADER)
    if (told === undefined) return readAnswer(first, cell)
    discard(first.answer)
    runs.set(cell, told)
    return readAnswer(await ask(), cell)
  }
}

interface Asked {
  answer: PassedAnswer
  key: ChannelKey
  signature: string
}

async function askFor(
  uid: string,
  asking: Omit<BaseSourceDeps, 'findCell'> & {
    cell: string
    url: string
    run: string | undefined
    signal: AbortSignal
  },
): Promise<Asked> {
  const { cell, url, run, links, now, signal } = asking
  const [key] = asking.keys()
  if (key === undefined) throw new Error('this agent has no token key to sign for other agents with')
  const sign = createSigner({ keys: () => [key], agentId: () => baseReceiverOf(cell), now })
  const request = {
    method: 'GET',
    target: BASE_PATH + uid,
    headers: run === undefined ? {} : { [AGENT_RUN_HEADER]: run },
  }
  const signature = sign(request, null)
  const headers = { ...request.headers, [SIGNATURE_HEADER]: signature }
  try {
    return { answer: await links.send(url, { ...request, headers, signal, owner: 'bases' }, NOTHING), key, signature }
  } catch (error) {
    signal.throwIfAborted()
    throw away(cell, error)
  }
}

function readAnswer({ answer, key, signature }: Asked, cell: string): AsyncIterable<Uint8Array> | null {
  if (answer.status === 200) return opened(answer, { key, signature, cell })
  discard(answer)
  if (answer.status === 404) return null
  throw away(cell, new Error(`it answered ${answer.status}`))
}

async function* opened(
  { body }: PassedAnswer,
  { key, signature, cell }: { key: ChannelKey; signature: string; cell: string },
): AsyncGenerator<Uint8Array> {
  try {
    yield* openSealed(piecesByTurns(body as AsyncIterable<Uint8Array>, FLEET_BASES), bodyMac(key, signature))
  } catch (error) {
    throw new Error(`what cell ${cell} sent is not whole`, { cause: error })
  }
}

function away(cell: string, cause?: unknown): ServiceError {
  return cellAway(cell, cause, { which: ', which made the base,' })
}

const NOTHING = new Uint8Array(0)

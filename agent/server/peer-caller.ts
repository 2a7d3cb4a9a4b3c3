import { AGENT_RUN_HEADER, createSigner, SIGNATURE_HEADER, type SignerOptions } from '../../shared/auth/channel.ts'
import { headerOf } from '../../shared/http/messages.ts'
import { type CellLinks, cellAway, type PassedAnswer } from './cells/cell-links.ts'
import { discard } from './passing.ts'
import { peerIdOf } from './peer-keys.ts'
import type { PeerPath } from './peer-messages.ts'

/** Sends this agent's own requests to the agent of one other cell. */
export interface PeerCaller {
  /** @throws ServiceError `agent_unavailable` if it cannot be reached, or does not accept the signature */
  post(path: PeerPath, body: object, signal: AbortSignal): Promise<PassedAnswer>
}

export interface PeerCallerDeps extends Pick<SignerOptions, 'keys' | 'now'> {
  /** Number of the other cell. */
  cell: string
  /** Base URL of its channel. Null: it has no agent now. */
  findUrl(): string | null
  links: Pick<CellLinks, 'send'>
}

/** Creates the caller. It learns the run of the other agent from its first refusal, and signs for that run afterwards. */
export function createPeerCaller({ cell, findUrl, links, keys, now }: PeerCallerDeps): PeerCaller {
  const sign = createSigner({ keys, now, agentId: () => peerIdOf(cell) })
  let run: string | undefined
  const send = (path: PeerPath, body: Buffer, signal: AbortSignal): Promise<PassedAnswer> => {
    const url = findUrl()
    if (url === null) throw cellAway(cell)
    const head = { ...JSON_TYPE, ...(run === undefined ? {} : { [AGENT_RUN_HEADER]: run }) }
    const signature = sign({ method: 'POST', target: path, headers: head }, body)
    const headers = { ...head, [SIGNATURE_HEADER]: signature }
    return links.send(url, { method: 'POST', target: path, headers, signal, owner: 'histories' }, body)
  }
  return {
    post: async (path, given, signal) => {
      const body = Buffer.from(JSON.stringify(given))
      try {
        const answer = await send(path, body, signal)
        const told = headerOf(answer.headers, AGENT_RUN_HEADER)
        if (told === undefined) return answer
        discard(answer)
        run = told
        return await send(path, body, signal)
      } catch (error) {
        throw cellAway(cell, error)
      }
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

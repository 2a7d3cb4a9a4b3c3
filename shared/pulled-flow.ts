import { type FlowTurns, LOOP_TURNS, type OpenFlow, TURN_BYTES } from './flow-turns.ts'
import type { FlowOwner } from './rotation.ts'

/** A stream whose reader asks before it handles a piece. */
export interface PulledFlow {
  /** Counts a piece, and resolves in the turn in which the caller can handle it. Returns null if that is now. */
  take(sizeBytes: number): Promise<void> | null
  /** Ends the stream. A waiting `take` resolves, and others can use the rest of its turn. A second call does nothing. */
  close(): void
}

/** Opens a stream of an owner in `turns`. Default: the turns of this process. */
export function openPulled(owner: FlowOwner, turns: FlowTurns = LOOP_TURNS): PulledFlow {
  return pulled((valve) => turns.open(owner, valve))
}

/** Returns a pulled flow on top of a flow that `open` opens. */
export function pulled(open: OpenFlow): PulledFlow {
  let waiting: PromiseWithResolvers<void> | null = null
  let isOver = false
  const release = (): void => {
    waiting?.resolve()
    waiting = null
  }
  const flow = open({
    hold: () => {
      waiting = Promise.withResolvers<void>()
    },
    release,
  })
  return {
    take: (sizeBytes) => {
      if (isOver) return null
      flow.ask(sizeBytes)
      return waiting?.promise ?? null
    },
    close: () => {
      if (isOver) return
      isOver = true
      flow.close()
      release()
    },
  }
}

/**
 * Passes pieces on in the turns of their owner, cut to 256 KiB each without a copy. Leaves the queue when the source ends or fails, and as
 * soon as the reader leaves, even during a wait.
 */
export function piecesByTurns(
  pieces: AsyncIterable<Uint8Array>,
  owner: FlowOwner,
  turns: FlowTurns = LOOP_TURNS,
): AsyncIterableIterator<Uint8Array> {
  return new PacedPieces(pieces, openPulled(owner, turns))
}

class PacedPieces implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: AsyncIterable<Uint8Array>
  readonly #flow: PulledFlow
  #source: AsyncIterator<Uint8Array> | null = null
  #rest: Uint8Array | null = null
  #isOver = false

  constructor(pieces: AsyncIterable<Uint8Array>, flow: PulledFlow) {
    this.#pieces = pieces
    this.#flow = flow
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#rest === null && !this.#isOver) await this.#read()
    if (this.#rest === null || this.#isOver) return DONE
    const piece = this.#rest.subarray(0, TURN_BYTES)
    this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(TURN_BYTES) : null
    const turn = this.#flow.take(piece.length)
    if (turn !== null) await turn
    return this.#isOver ? DONE : { done: false, value: piece }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#end()
    await this.#iterator().return?.()
    return DONE
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    return this
  }

  async #read(): Promise<void> {
    try {
      const step = await this.#iterator().next()
      if (step.done === true) this.#end()
      else this.#rest = step.value
    } catch (error) {
      this.#end()
      throw error
    }
  }

  #iterator(): AsyncIterator<Uint8Array> {
    this.#source ??= this.#pieces[Symbol.asyncIterator]()
    return this.#source
  }

  #end(): void {
    this.#isOver = true
    this.#rest = null
    this.#flow.close()
  }
}

const DONE = { done: true, value: undefined } as const

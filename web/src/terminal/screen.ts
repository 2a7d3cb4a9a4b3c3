import type { Terminal } from '@xterm/xterm'

/** Shows output on a terminal, which draws it later, in pieces. */
export class Screen {
  readonly #terminal: Terminal
  #waitingBytes = 0
  #wake: () => void = () => undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** Writes output, and resolves while little of it waits. The service holds the output that is not shown yet. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
      const piece = bytes.subarray(from, from + PIECE_BYTES)
      this.#waitingBytes += piece.length
      this.#terminal.write(piece, () => {
        this.#waitingBytes -= piece.length
        this.#wake()
      })
      await this.#untilBelow(WAITING_MAX_BYTES)
    }
  }

  /** Clears the terminal once it has processed the written output. */
  async clear(): Promise<void> {
    await this.#untilBelow(0)
    this.#terminal.reset()
  }

  async #untilBelow(bytes: number): Promise<void> {
    while (this.#waitingBytes > bytes) await new Promise<void>((resolve) => (this.#wake = resolve))
  }
}

/** Bytes that a terminal processes in a fraction of a frame. */
const PIECE_BYTES = 16 * 1024
/** It processes several pieces in one turn of the page. */
const WAITING_MAX_BYTES = 64 * 1024

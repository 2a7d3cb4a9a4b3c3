/** The on-screen Ctrl key, which stays pressed for one more character. */
export class ScreenCtrl {
  #isHeld = false
  readonly #listeners = new Set<() => void>()

  get isHeld(): boolean {
    return this.#isHeld
  }

  readonly watch = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  toggle(): void {
    this.#set(!this.#isHeld)
  }

  /** Applies the key to a typed character, and releases the key. Returns other text unchanged. */
  apply(text: string): string {
    if (!this.#isHeld || !CONTROLLED.test(text)) return text
    this.#set(false)
    return String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f)
  }

  #set(isHeld: boolean): void {
    this.#isHeld = isHeld
    for (const listener of this.#listeners) listener()
  }
}

/** Characters that have a control character. */
const CONTROLLED = /^[a-zA-Z@[\\\]^_ ]$/

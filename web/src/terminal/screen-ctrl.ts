/** The Ctrl key of the screen: held for one more character. */
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

  /** Returns what a typed character is with the key, and lets the key go; other text is as it is. */
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

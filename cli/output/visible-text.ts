/** Shows control characters but tabs and new lines by their codes: what boxes say must not command a terminal. A pure function. */
export function visibleText(text: string): string {
  return text.replaceAll(CONTROLS, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

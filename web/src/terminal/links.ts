import { WebLinksAddon } from '@xterm/addon-web-links'
import type { Terminal } from '@xterm/xterm'
import { openTab } from '../api/open-tab.ts'
import { webAddress } from '../api/own-path.ts'
import { boxPortOf } from './box-port.ts'

export interface LinkOptions {
  /** Shows the target of the link below the pointer, or null once the pointer has left it. */
  onHover(address: string | null): void
  /** Handles a port of the box that a program calls its own machine's, with the path after it. */
  onBoxPort(port: number, path: string): void
}

/**
 * Turns addresses on a terminal into links: those in its text, and those behind other text (OSC 8). Only HTTP and HTTPS open, in a tab
 * without access to this page, with Ctrl or Cmd held, or by touch, because the box writes the text. An address of the box's own machine,
 * such as `http://localhost:5173`, would lead to the user's machine, so the caller gets it instead.
 */
export function addLinks(terminal: Terminal, { onHover, onBoxPort }: LinkOptions): void {
  const open = (event: MouseEvent, text: string): void => {
    const address = webAddress(text)
    if (address === null || !(event.ctrlKey || event.metaKey || isFinger())) return
    const own = boxPortOf(address)
    if (own === null) openTab(address)
    else onBoxPort(own.port, own.path)
  }
  const hover = (_: MouseEvent, text: string): void => onHover(webAddress(text))
  const leave = (): void => onHover(null)
  terminal.loadAddon(new WebLinksAddon(open, { hover, leave }))
  terminal.options.linkHandler = { activate: open, hover, leave }
}

function isFinger(): boolean {
  return matchMedia('(pointer: coarse)').matches
}

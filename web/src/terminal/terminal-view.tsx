import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'react'
import type { Ref } from '../api/records.ts'
import { ownPaletteKey } from '../shell/key-owner.ts'
import { useIsDark } from '../shell/theme.ts'
import { Button } from '../ui/button.tsx'
import { copyText } from '../ui/copy.tsx'
import { Attachment, type AttachmentState } from './attachment.ts'
import { setCellWidths } from './cell-widths.ts'
import { changeFontSize, fontSize, screenReader } from './choices.ts'
import { DARK, FOUND_DARK, FOUND_LIGHT, LIGHT } from './colours.ts'
import { drawByGpu } from './gpu-renderer.ts'
import type { Unsent } from './held-input.ts'
import { useKeyboardHeight } from './keyboard-height.ts'
import { addLinks } from './links.ts'
import { applyOwnFont } from './own-font.ts'
import { ScreenCtrl } from './screen-ctrl.ts'
import { type Found, TerminalSearch } from './terminal-search.tsx'
import { TouchKeys } from './touch-keys.tsx'

interface TerminalViewProps {
  box: Ref
  session: string
  /** The directory for a new session, if none of the name exists. */
  cwd?: string | undefined
  /** Handles a port that a program of the box calls its own machine's, with the path after it. */
  onBoxPort(port: number, path: string): void
  /** Called whenever it is attached. The session exists then. */
  onOpen(): void
}

/** Keeps a terminal of a session in an element of the page. */
function useTerminal({ box: { project, name }, session, cwd, onBoxPort, onOpen }: TerminalViewProps) {
  const place = useRef<HTMLDivElement>(null)
  const parts = useRef<{ terminal: Terminal; search: SearchAddon; fit: FitAddon; attachment: Attachment } | null>(null)
  const [state, setState] = useState<AttachmentState>({ kind: 'connecting' })
  const [unsent, setUnsent] = useState<Unsent | null>(null)
  const [attempt, setAttempt] = useState(0)
  const [isSearching, setSearching] = useState(false)
  const [found, setFound] = useState<Found | null>(null)
  const [hovered, setHovered] = useState<string | null>(null)
  const [ctrl] = useState(() => new ScreenCtrl())
  const isDark = useIsDark()
  const told = useRef({ onOpen, onBoxPort })
  told.current = { onOpen, onBoxPort }
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const { terminal, search, fit, close } = openTerminal(element, () => setSearching(true))
    search.onDidChangeResults(setFound)
    addLinks(terminal, { onHover: setHovered, onBoxPort: (port, path) => told.current.onBoxPort(port, path) })
    const attachment = new Attachment(terminal, {
      box: { project, name },
      session,
      cwd,
      typed: (text) => ctrl.apply(text),
      onState: (now) => {
        setState(now)
        if (now.kind === 'open') told.current.onOpen()
      },
      onUnsent: setUnsent,
    })
    parts.current = { terminal, search, fit, attachment }
    return () => {
      attachment.close()
      setUnsent(null)
      setHovered(null)
      close()
      parts.current = null
    }
  }, [project, name, session, cwd, ctrl, attempt])
  useEffect(() => {
    if (parts.current) parts.current.terminal.options.theme = isDark ? DARK : LIGHT
  }, [isDark, attempt, session])
  const isRead = screenReader.use()
  useEffect(() => {
    if (parts.current) parts.current.terminal.options.screenReaderMode = isRead
  }, [isRead, attempt, session])
  const sizePx = fontSize.use()
  useEffect(() => {
    if (!parts.current) return
    parts.current.terminal.options.fontSize = sizePx
    parts.current.fit.fit()
  }, [sizePx, attempt, session])
  const begin = (): void => setAttempt(attempt + 1)
  return { place, parts, state, unsent, isSearching, setSearching, found, setFound, hovered, ctrl, isDark, begin }
}

/** A terminal of a session of a box, as large as its container. */
export function TerminalView(props: TerminalViewProps) {
  const { place, parts, state, unsent, isSearching, setSearching, found, setFound, hovered, ctrl, isDark, begin } =
    useTerminal(props)
  const keyboardPx = useKeyboardHeight()
  /** Ends the question about unsent input. */
  const answer = (isSent: boolean): void => {
    if (isSent) parts.current?.attachment.sendHeld()
    else parts.current?.attachment.dropHeld()
    parts.current?.terminal.focus()
  }
  return (
    <section
      aria-label={`Terminal ${props.session}`}
      className="flex min-h-0 flex-1 flex-col"
      style={{ paddingBottom: keyboardPx }}
    >
      {isSearching && (
        <TerminalSearch
          found={found}
          find={(text, isBack) => {
            const options = { decorations: isDark ? FOUND_DARK : FOUND_LIGHT }
            if (text === '') {
              parts.current?.search.clearDecorations()
              setFound(null)
            } else if (isBack) parts.current?.search.findPrevious(text, options)
            else parts.current?.search.findNext(text, options)
          }}
          close={() => {
            setSearching(false)
            setFound(null)
            parts.current?.search.clearDecorations()
            parts.current?.terminal.focus()
          }}
        />
      )}
      <div className="relative min-h-8 flex-1">
        <div className="absolute inset-x-0 top-0 z-10">
          <Bar state={state} />
          {unsent && <UnsentBar unsent={unsent} isOpen={state.kind === 'open'} answer={answer} />}
        </div>
        {/* It does not affect the height of its container. Otherwise the page could grow with the window, but never shrink. */}
        <div
          ref={place}
          data-state={state.kind}
          className="absolute inset-0 overflow-hidden bg-panel dark:bg-bg [&_.xterm-viewport]:bg-transparent! [&>.xterm]:h-full [&>.xterm]:p-1"
        />
        {hovered !== null && <LinkHint address={hovered} />}
      </div>
      <TouchKeys ctrl={ctrl} terminal={() => parts.current?.terminal} />
      {state.kind === 'ended' && <EndedBar state={state} again={begin} />}
    </section>
  )
}

/** Opens a terminal that is as large as its container. */
function openTerminal(element: HTMLElement, find: () => void) {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono') || 'monospace',
    fontSize: fontSize.value,
    scrollback: 10_000,
    cursorBlink: !stillness().matches,
    minimumContrastRatio: 4.5,
    // Widths of characters and the marks of finds are proposed.
    allowProposedApi: true,
  })
  const fit = new FitAddon()
  const search = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(search)
  setCellWidths(terminal)
  terminal.open(element)
  terminal.attachCustomKeyEventHandler((event) => takeKey(event, terminal, find))
  const onPaste = (event: ClipboardEvent): void => {
    event.preventDefault()
    event.stopImmediatePropagation()
    terminal.paste((event.clipboardData?.getData('text/plain') ?? '').replaceAll('\u001b', ''))
  }
  // A terminal would read a text with the sequence that ends a paste as keys after it.
  element.addEventListener('paste', onPaste, { capture: true })
  const stopFont = applyOwnFont(terminal, fit)
  fit.fit()
  terminal.focus()
  void drawByGpu(terminal)
  const disown = ownPaletteKey(element, () => terminal.input(CONTROL_K))
  const onStillness = (): void => void (terminal.options.cursorBlink = !stillness().matches)
  stillness().addEventListener('change', onStillness)
  const observer = new ResizeObserver(() => fit.fit())
  observer.observe(element)
  const close = (): void => {
    stopFont()
    observer.disconnect()
    stillness().removeEventListener('change', onStillness)
    disown()
    element.removeEventListener('paste', onPaste, { capture: true })
    terminal.dispose()
  }
  return { terminal, search, fit, close }
}

/** Lies on the terminal. Resizing the terminal at each break would report each new size to its shell. */
function Bar({ state }: { state: AttachmentState }) {
  if (state.kind === 'open' || state.kind === 'ended') return null
  const words =
    state.kind === 'connecting' ? 'Connecting…' : `${state.reason} The session keeps running. Connecting again…`
  return (
    <div role="status" className="flex items-center justify-between gap-3 bg-warn-soft px-3 py-2">
      <span>{words}</span>
    </div>
  )
}

/** Below the terminal, because nothing is attached that would get another size. */
function EndedBar({ state, again }: { state: AttachmentState & { kind: 'ended' }; again(): void }) {
  return (
    <div
      role="status"
      className={`flex items-center justify-between gap-3 border-t border-line px-3 py-2 ${state.isRefused ? 'bg-warn-soft' : 'bg-raised'}`}
    >
      <span>{state.reason}</span>
      <Button onClick={again}>{state.isRefused ? 'Try again' : 'Start a new shell'}</Button>
    </div>
  )
}

/** Shows the target of a link, because a program may have put it behind other text. */
function LinkHint({ address }: { address: string }) {
  return (
    <p
      role="status"
      className="pointer-events-none absolute bottom-0 left-0 z-10 max-w-full truncate rounded-tr-md border border-line bg-panel px-2 py-1 text-xs text-muted"
    >
      Ctrl-click opens {address}
    </p>
  )
}

interface UnsentBarProps {
  unsent: Unsent
  isOpen: boolean
  answer(isSent: boolean): void
}

/** Reports input that a lost connection swallowed, and asks what to do with it. */
function UnsentBar({ unsent: { isKept, isUnsure }, isOpen, answer }: UnsentBarProps) {
  const words = [
    isUnsure && 'The last keys before the connection was lost may not have arrived.',
    isKept && 'Keys that you typed after the connection was lost were not sent.',
  ]
  return (
    <div role="alert" className="flex flex-wrap items-center justify-between gap-3 bg-warn-soft px-3 py-2">
      <span>{words.filter(Boolean).join(' ')}</span>
      <span className="flex gap-2">
        {isKept && isOpen && <Button onClick={() => answer(true)}>Send it now</Button>}
        <Button onClick={() => answer(false)}>{isKept ? 'Discard it' : 'Dismiss'}</Button>
      </span>
    </div>
  )
}

/**
 * Handles the keys that do not belong to the shell. Ctrl-Shift-C copies, Ctrl-Shift-F finds, and Ctrl-Shift with + - 0 changes the font
 * size. The browser pastes with Ctrl-Shift-V.
 */
function takeKey(event: KeyboardEvent, terminal: Terminal, search: () => void): boolean {
  if (!event.ctrlKey || !event.shiftKey || event.type !== 'keydown') return true
  if (event.code === 'KeyC' && terminal.hasSelection()) {
    event.preventDefault()
    void copyText(terminal.getSelection(), terminal.element).then(() => terminal.focus())
    return false
  }
  if (event.code === 'KeyF') {
    event.preventDefault()
    search()
    return false
  }
  const step = SIZE_STEPS.get(event.code)
  if (step !== undefined) {
    event.preventDefault()
    changeFontSize(step)
    return false
  }
  return event.code !== 'KeyV'
}

/** Whether the user prefers reduced motion. */
function stillness(): MediaQueryList {
  return matchMedia('(prefers-reduced-motion: reduce)')
}

const SIZE_STEPS = new Map<string, 1 | -1 | 0>([
  ['Equal', 1],
  ['NumpadAdd', 1],
  ['Minus', -1],
  ['NumpadSubtract', -1],
  ['Digit0', 0],
  ['Numpad0', 0],
])
const CONTROL_K = '\u000b'

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
import { FilterInput } from '../ui/field.tsx'
import { Attachment, type AttachmentState } from './attachment.ts'
import { setCellWidths } from './cell-widths.ts'
import { DARK, FOUND_DARK, FOUND_LIGHT, LIGHT } from './colours.ts'
import { drawByGpu } from './gpu-renderer.ts'
import type { Unsent } from './held-input.ts'
import { useKeyboardHeight } from './keyboard-height.ts'
import { applyOwnFont } from './own-font.ts'
import { useScreenReader } from './screen-reader.ts'

interface TerminalViewProps {
  box: Ref
  session: string
  /** Told whenever it is attached: the session is there then. */
  onOpen(): void
}

/** Keeps a terminal of a session in a place of the page. */
function useTerminal({ box: { project, name }, session, onOpen }: TerminalViewProps) {
  const place = useRef<HTMLDivElement>(null)
  const parts = useRef<{ terminal: Terminal; search: SearchAddon; attachment: Attachment } | null>(null)
  const [state, setState] = useState<AttachmentState>({ kind: 'connecting' })
  const [unsent, setUnsent] = useState<Unsent | null>(null)
  const [attempt, setAttempt] = useState(0)
  const [isSearching, setSearching] = useState(false)
  const [found, setFound] = useState<Found | null>(null)
  const isDark = useIsDark()
  const opened = useRef(onOpen)
  opened.current = onOpen
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const { terminal, search, close } = openTerminal(element, () => setSearching(true))
    search.onDidChangeResults(setFound)
    const attachment = new Attachment(terminal, {
      box: { project, name },
      session,
      onState: (now) => {
        setState(now)
        if (now.kind === 'open') opened.current()
      },
      onUnsent: setUnsent,
    })
    parts.current = { terminal, search, attachment }
    return () => {
      attachment.close()
      setUnsent(null)
      close()
      parts.current = null
    }
  }, [project, name, session, attempt])
  useEffect(() => {
    if (parts.current) parts.current.terminal.options.theme = isDark ? DARK : LIGHT
  }, [isDark, attempt, session])
  const isRead = useScreenReader()
  useEffect(() => {
    if (parts.current) parts.current.terminal.options.screenReaderMode = isRead
  }, [isRead, attempt, session])
  const begin = (): void => setAttempt(attempt + 1)
  return { place, parts, state, unsent, isSearching, setSearching, found, setFound, isDark, begin }
}

/** A terminal of a session of a box, as large as its place. */
export function TerminalView(props: TerminalViewProps) {
  const { place, parts, state, unsent, isSearching, setSearching, found, setFound, isDark, begin } = useTerminal(props)
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
        {/* It takes no part in the height of what it fills: else the page could grow with the window, but never shrink. */}
        <div
          ref={place}
          data-state={state.kind}
          className="absolute inset-0 overflow-hidden bg-panel dark:bg-bg [&_.xterm-viewport]:bg-transparent! [&>.xterm]:h-full [&>.xterm]:p-1"
        />
      </div>
      {state.kind === 'ended' && <EndedBar state={state} again={begin} />}
    </section>
  )
}

/** Opens a terminal that is as large as its place. */
function openTerminal(element: HTMLElement, find: () => void) {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono') || 'monospace',
    fontSize: 13,
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
  // A text with the sequence that ends a paste would be taken for keys after it.
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
  return { terminal, search, close }
}

/** Lies on the terminal: one that became smaller and larger at each break would tell its shell so. */
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

/** Stands below the terminal: nothing is attached that would be told of another size. */
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

/** Which of the finds is marked, from 0, and how many there are; -1: there are very many. */
interface Found {
  resultIndex: number
  resultCount: number
}

interface TerminalSearchProps {
  found: Found | null
  find(text: string, isBack: boolean): void
  close(): void
}

function TerminalSearch({ found, find, close }: TerminalSearchProps) {
  const [text, setText] = useState('')
  return (
    <search className="flex gap-2 border-b border-line bg-panel p-2">
      <FilterInput
        label="Find in the terminal"
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          find(event.target.value, false)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close()
          if (event.key === 'Enter') find(text, event.shiftKey)
        }}
      />
      <span role="status" className="min-w-20 self-center text-muted tabular-nums">
        {text === '' || found === null ? '' : foundWords(found)}
      </span>
      <Button onClick={() => find(text, true)}>Previous</Button>
      <Button onClick={() => find(text, false)}>Next</Button>
      <Button kind="quiet" onClick={close}>
        Close
      </Button>
    </search>
  )
}

function foundWords({ resultIndex, resultCount }: Found): string {
  if (resultCount === 0) return 'Not found'
  return resultIndex < 0 ? `${resultCount} or more` : `${resultIndex + 1} of ${resultCount}`
}

/** Takes the keys that are not the shell's: Ctrl-Shift-C copies, Ctrl-Shift-F finds; the browser pastes with Ctrl-Shift-V. */
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
  return event.code !== 'KeyV'
}

/** Whether the user wants nothing to move. */
function stillness(): MediaQueryList {
  return matchMedia('(prefers-reduced-motion: reduce)')
}

const CONTROL_K = '\u000b'

import { useNavigate } from '@tanstack/react-router'
import { Dialog as Radix } from 'radix-ui'
import { useEffect, useId, useRef, useState } from 'react'
import { ownPath } from '../api/own-path.ts'
import { useReturnFocus } from '../ui/return-focus.ts'
import { ownerOfPaletteKey } from './key-owner.ts'
import { usePaletteEntries } from './palette-entries.ts'
import { type PaletteEntry, searchEntries } from './palette-search.ts'

/** The command palette: Ctrl-K, then a few letters of a page, box, volume or command, then Enter. */
export function Palette({ isOpen, setOpen }: { isOpen: boolean; setOpen(isOpen: boolean): void }) {
  // An element that needs the key, such as a terminal, gets it at the second press.
  const [pass, setPass] = useState<(() => void) | null>(null)
  const hasLeft = useRef(false)
  const returnFocus = useReturnFocus(isOpen)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      event.stopPropagation()
      if (isOpen) {
        if (pass === null) return
        setOpen(false)
        pass()
      } else {
        setPass(() => ownerOfPaletteKey(document.activeElement))
        setOpen(true)
      }
    }
    // Runs before a terminal takes the key.
    window.addEventListener('keydown', onKey, { capture: true })
    return () => window.removeEventListener('keydown', onKey, { capture: true })
  }, [isOpen, setOpen, pass])
  useEffect(() => {
    if (isOpen) hasLeft.current = false
    else setPass(null)
  }, [isOpen])
  return (
    <Radix.Root open={isOpen} onOpenChange={setOpen}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          aria-describedby={undefined}
          // An opened page takes the focus itself.
          onCloseAutoFocus={(event) => (hasLeft.current ? event.preventDefault() : returnFocus(event))}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-panel shadow-2xl"
        >
          <Radix.Title className="sr-only">Search</Radix.Title>
          <PaletteSearch
            leave={(isOther) => {
              hasLeft.current = isOther
              setOpen(false)
            }}
          />
          {pass !== null && (
            <p className="border-t border-line px-4 py-2 text-xs text-muted">
              Press Ctrl-K again to send it to the terminal.
            </p>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Searches by letters. Calls `leave` with whether the target is another page. */
function PaletteSearch({ leave }: { leave(isOther: boolean): void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const found = searchEntries(usePaletteEntries(), text)
  const go = (entry: PaletteEntry | undefined): void => {
    if (!entry) return
    if (entry.href === null) {
      leave(false)
      return entry.act?.()
    }
    leave(new URL(entry.href, location.href).pathname !== location.pathname)
    // The address may have a query.
    void navigate({ href: ownPath(entry.href) })
  }
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, at])
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((at + step + found.length) % Math.max(1, found.length))
    } else if (event.key === 'Enter') go(found[at])
  }
  return (
    <>
      <input
        role="combobox"
        aria-label="Search pages, boxes, volumes and commands"
        aria-expanded={true}
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        placeholder="Search pages, boxes, volumes and commands"
        className="w-full border-b border-line bg-panel px-4 py-3 outline-none"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Results" className="max-h-80 overflow-y-auto p-1">
        {found.map((entry, index) => (
          <div
            key={`${entry.kind} ${entry.name}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={`flex cursor-pointer justify-between gap-3 rounded px-3 py-2 ${index === at ? 'bg-accent-soft' : ''}`}
            onClick={() => go(entry)}
            onKeyDown={onKeyDown}
            onMouseMove={() => setAt(index)}
          >
            <span>{entry.name}</span>
            <span className="text-xs text-muted">{entry.kind}</span>
          </div>
        ))}
        {found.length === 0 && <div className="px-3 py-2 text-muted">No results</div>}
      </div>
    </>
  )
}

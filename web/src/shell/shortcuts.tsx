import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { CheckField } from '../ui/field.tsx'
import { BrowserChoice } from './browser-choice.ts'
import { PLACES } from './places.ts'
import { useRights } from './rights.ts'
import { type Shortcut, shortcutOf } from './shortcut-keys.ts'

/** Opens the list of shortcuts, and handles single letters unless the focused element takes them. */
export function ShortcutsButton({ className }: { className: string }) {
  const [isOpen, setOpen] = useState(false)
  const isOn = singleKeys.use()
  useShortcuts(isOn, () => setOpen(true))
  return (
    <>
      <button type="button" className={className} onClick={() => setOpen(true)}>
        Shortcuts
      </button>
      <Dialog title="Keyboard shortcuts" isOpen={isOpen} close={() => setOpen(false)}>
        <dl className="mb-4 grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
          {KEYS.map(([keys, words]) => (
            <div key={keys} className="contents">
              <dt>
                <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-xs">{keys}</kbd>
              </dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
        <CheckField
          label="Use single-letter shortcuts"
          hint="Turn them off if they get in the way of speech input."
          checked={isOn}
          onChange={() => singleKeys.choose(isOn ? 'off' : null)}
        />
      </Dialog>
    </>
  )
}

function useShortcuts(isOn: boolean, open: () => void): void {
  const navigate = useNavigate()
  const rights = useRights()
  const [before, opening] = [useRef(''), useRef(open)]
  opening.current = open
  useEffect(() => {
    if (!isOn) return undefined
    const act = (shortcut: Shortcut): void => {
      if (shortcut.kind === 'help') return opening.current()
      if (shortcut.kind === 'search') return document.querySelector<HTMLElement>('main input[type="search"]')?.focus()
      if (shortcut.kind === 'create') return void navigate({ to: '/boxes', search: { create: 'box' } })
      const place = PLACES.find(({ to, isFor }) => to === shortcut.to && isFor(rights))
      if (place) void navigate({ to: place.to })
    }
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return
      const shortcut = shortcutOf(before.current, event.key)
      before.current = event.key
      if (shortcut === null) return
      event.preventDefault()
      before.current = ''
      act(shortcut)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [isOn, navigate, rights])
}

/** Returns true if the focused element takes letters. */
function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false
  return target.closest('input, select, textarea, [contenteditable], [role="dialog"], [role="menu"], .xterm') !== null
}

/** Whether single letters are shortcuts. */
const singleKeys = new BrowserChoice('boxyard.single-keys', (kept) => kept !== 'off')
const KEYS = [
  ['Ctrl K', 'Search, and run commands'],
  ['/', 'Filter the list'],
  ['c', 'Create box'],
  ['g b', 'Go to Boxes'],
  ['g v', 'Go to Volumes'],
  ['g p', 'Go to Projects'],
  ['g a', 'Go to Activity'],
  ['g o', 'Go to Overview'],
  ['Ctrl Enter', 'Create a box and open its terminal'],
  ['Ctrl S', 'Save the open file'],
  ['F8', 'Go to the latest notice'],
  ['?', 'Show this list'],
] as const

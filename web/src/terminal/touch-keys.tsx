import type { Terminal } from '@xterm/xterm'
import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp } from 'lucide-react'
import { type ReactNode, useSyncExternalStore } from 'react'
import type { ScreenCtrl } from './screen-ctrl.ts'

interface TouchKeysProps {
  ctrl: ScreenCtrl
  terminal(): Terminal | undefined
}

/** The keys that an on-screen keyboard lacks: Esc, Tab, Ctrl and arrows. Shown for touch input. */
export function TouchKeys({ ctrl, terminal }: TouchKeysProps) {
  const isHeld = useSyncExternalStore(ctrl.watch, () => ctrl.isHeld)
  const arrow = (letter: string): void => {
    const isApplication = terminal()?.modes.applicationCursorKeysMode === true
    terminal()?.input(`\u001b${isApplication ? 'O' : '['}${letter}`)
  }
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      className="hidden gap-1 overflow-x-auto border-t border-line bg-panel p-1 pointer-coarse:flex"
    >
      <Key name="Esc" press={() => terminal()?.input('\u001b')} />
      <Key name="Tab" press={() => terminal()?.input('\t')} />
      <Key name="Ctrl" isHeld={isHeld} press={() => ctrl.toggle()} />
      <Key name="Left" press={() => arrow('D')} icon={<ArrowLeft aria-hidden className="size-4" />} />
      <Key name="Up" press={() => arrow('A')} icon={<ArrowUp aria-hidden className="size-4" />} />
      <Key name="Down" press={() => arrow('B')} icon={<ArrowDown aria-hidden className="size-4" />} />
      <Key name="Right" press={() => arrow('C')} icon={<ArrowRight aria-hidden className="size-4" />} />
    </div>
  )
}

interface KeyProps {
  name: string
  press(): void
  icon?: ReactNode
  /** State of a key that stays down. */
  isHeld?: boolean
}

function Key({ name, press, icon, isHeld }: KeyProps) {
  return (
    <button
      type="button"
      aria-label={name}
      aria-pressed={isHeld}
      className={`inline-flex min-h-10 min-w-11 items-center justify-center rounded-md border border-line px-2 font-medium ${isHeld ? 'bg-accent-soft' : 'bg-raised'}`}
      // The terminal keeps the focus, and thereby the keyboard.
      onPointerDown={(event) => event.preventDefault()}
      onClick={press}
    >
      {icon ?? name}
    </button>
  )
}

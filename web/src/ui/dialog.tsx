import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { focusFirst } from './first-focus.ts'
import { useReturnFocus } from './return-focus.ts'

interface DialogProps {
  title: string
  /** One sentence about it. */
  about?: ReactNode
  isOpen: boolean
  close(): void
  /** Whether it ignores Escape and clicks outside. Only its buttons then close it. */
  isKept?: boolean
  children: ReactNode
}

/** A dialog above the page. Escape closes it, and the focus stays in it and returns afterwards. */
export function Dialog({ title, about, isOpen, close, isKept = false, children }: DialogProps) {
  const returnFocus = useReturnFocus(isOpen)
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && close()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          onCloseAutoFocus={returnFocus}
          onOpenAutoFocus={(event) => {
            // Never focuses a button that closes it, because a key that is held down would press it.
            event.preventDefault()
            if (!focusFirst(event.currentTarget) && event.currentTarget instanceof HTMLElement)
              event.currentTarget.focus()
          }}
          onEscapeKeyDown={(event) => isKept && event.preventDefault()}
          onInteractOutside={(event) => isKept && event.preventDefault()}
          {...(about === undefined ? { 'aria-describedby': undefined } : {})}
          className="fixed top-1/2 left-1/2 z-50 flex max-h-[90dvh] w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 -translate-y-1/2 flex-col overflow-hidden rounded-lg border border-line bg-panel shadow-2xl"
        >
          <div className="flex items-start justify-between gap-3 px-5 pt-5 pb-3">
            <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
            <Radix.Close aria-label="Close" className="rounded p-1 hover:bg-raised">
              <X aria-hidden className="size-4" />
            </Radix.Close>
          </div>
          <div className="dialog-body">
            {about !== undefined && <Radix.Description className="mb-4 text-muted">{about}</Radix.Description>}
            {/* While it closes, draws and requests nothing about its former subject. */}
            {isOpen && children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
